// SPDX-License-Identifier: BSD-3-Clause
#include "cli/stager_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "store/posix/file.hpp"

namespace glean::cli {
namespace {

using staging::FileStatus;

constexpr std::size_t listed_text_max = 512u << 10;

FileStatus status_from(const struct stat& found, std::string path) {
  FileStatus status;
  status.kind = S_ISREG(found.st_mode) ? FileStatus::Kind::file : S_ISDIR(found.st_mode) ? FileStatus::Kind::directory
                                                                                         : FileStatus::Kind::other;
  status.path = std::move(path);
  status.bytes = static_cast<std::uint64_t>(found.st_size);
  status.modified_seconds = found.st_mtim.tv_sec;
  status.modified_nanoseconds = found.st_mtim.tv_nsec;
  status.inode = found.st_ino;
  status.mode = found.st_mode;
  return status;
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

// The directory in front of the first special character.
std::string plain_directory(const std::string& pattern) {
  const std::size_t slash = pattern.rfind('/', pattern.find_first_of("*?[\\"));
  return slash == 0 ? "/" : pattern.substr(0, slash);
}

// A name that is there is a name, whatever characters are in it.
std::vector<std::string> paths_of(const std::string& pattern) {
  struct stat status {};
  if (::lstat(pattern.c_str(), &status) == 0) return {pattern};
  glob_t found{};
  const int result = ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  const int reason = errno;
  std::vector<std::string> paths;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  const bool has_no_directory = result == GLOB_ABORTED && (reason == ENOENT || reason == ENOTDIR);
  if (result != 0 && result != GLOB_NOMATCH && !has_no_directory) {
    throw base::system_error(result == GLOB_NOSPACE ? ENOMEM : reason, "cannot search for '" + pattern + "'");
  }
  return paths;
}

}  // namespace

// Closed with the last reference, when no handler reads it any more.
class StagerFiles::OpenFile {
 public:
  OpenFile(int descriptor, const staging::ReadRequest& request, std::uint64_t client)
      : descriptor_(descriptor), path_(request.path), inode_(request.inode), client_(client) {}
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint64_t client() const { return client_; }
  [[nodiscard]] bool is(const staging::ReadRequest& request, std::uint64_t client) const {
    return client == client_ && request.inode == inode_ && request.path == path_;
  }

 private:
  int descriptor_;
  std::string path_;
  std::uint64_t inode_, client_;
};

StagerFiles::StagerFiles(Options options) : options_(std::move(options)), allowed_(options_.directories, "touches files") {}

bool StagerFiles::knows(const std::string& ask) {
  constexpr std::array<std::string_view, 6> known{"directories", "file_status", "list_files", "read_file", "remove_file", "rename_file"};
  return std::find(known.begin(), known.end(), ask) != known.end();
}

staging::Answer StagerFiles::answer(const std::string& ask, const nlohmann::json& request, std::uint64_t client) {
  if (ask == "file_status") return staging::to_json(status_of(staging::status_request_from(request)));
  if (ask == "list_files") return staging::to_json(list(staging::list_request_from(request)));
  if (ask == "read_file") return read(staging::read_request_from(request), client);
  if (ask == "remove_file") return remove(staging::remove_request_from(request));
  if (ask == "rename_file") return rename(staging::rename_request_from(request));
  auto directories = options_.directories;
  directories.insert(directories.end(), options_.also_called.begin(), options_.also_called.end());
  return nlohmann::json{{"directories", directories}};
}

// By its own name, and by the one where it leads.
bool StagerFiles::is_draining(const std::string& path) const {
  if (options_.is_draining(path)) return true;
  try {
    const std::string final_path = allowed_.resolve(path);
    return final_path != path && options_.is_draining(final_path);
  } catch (const base::Error&) {
    return false;
  }
}

FileStatus StagerFiles::status_of(const staging::StatusRequest& request) const {
  FileStatus status;
  status.path = request.path;
  std::string path;
  // A directory of the list itself is below none; programs ask whether it is there.
  const std::string real = store::real_path(request.path).value_or("");
  const bool is_directory = std::find(options_.directories.begin(), options_.directories.end(), real) != options_.directories.end();
  try {
    path = is_directory ? real : allowed_.resolve(request.path);
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::not_found) return status;   // its directory is not there
    throw;
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) status = status_from(found, path);
  else if (errno != ENOENT && errno != ENOTDIR) throw base::system_error(errno, fmt::format("cannot look at '{}'", path));
  status.is_draining = options_.is_draining(path);
  return status;
}

staging::ListAnswer StagerFiles::list(const staging::ListRequest& request) const {
  const std::string directory = plain_directory(request.pattern);
  const auto& directories = options_.directories;
  if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
    try {
      static_cast<void>(allowed_.resolve(directory + "/x"));
    } catch (const base::Error& error) {
      if (error.code() == base::Errc::not_found) return {};
      throw;
    }
  }
  std::vector<std::string> paths = paths_of(request.pattern);
  std::erase_if(paths, [&](const std::string& path) { return path <= request.after; });
  std::sort(paths.begin(), paths.end());
  staging::ListAnswer answer;
  std::size_t text_bytes = 0;
  for (const std::string& path : paths) {
    if (answer.files.size() == options_.listed_max || text_bytes > listed_text_max) {
      answer.has_more = true;
      break;
    }
    try {
      if (!is_utf8(path)) continue;   // a message cannot name it
      auto status = status_of({path});
      status.path = path;
      if (status.kind == FileStatus::Kind::none && !status.is_draining) continue;   // a link that leads nowhere, or just removed
      text_bytes += path.size() + 160;
      answer.files.push_back(std::move(status));
    } catch (const base::Error& error) {
      if (error.code() != base::Errc::permission) throw;   // a link that leads out
    }
  }
  return answer;
}

std::shared_ptr<const StagerFiles::OpenFile> StagerFiles::file_of(const staging::ReadRequest& request, std::uint64_t client) {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = std::find_if(open_.begin(), open_.end(), [&](const auto& each) { return each->is(request, client); });
    if (known != open_.end()) {
      open_.splice(open_.begin(), open_, known);
      return open_.front();
    }
  }
  const std::string path = allowed_.resolve(request.path);
  // What is no regular file must not keep the handler waiting.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) throw base::system_error(errno, fmt::format("cannot read '{}'", path));
  const auto file = std::make_shared<const OpenFile>(descriptor, request, client);
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) throw base::system_error(errno, fmt::format("cannot read '{}'", path));
  if (!S_ISREG(found.st_mode)) throw base::Error(base::Errc::io, fmt::format("'{}' is not a regular file", path));
  std::array<char, PATH_MAX> opened{};   // a directory on the way may have become a link meanwhile
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  if (::readlink(link.c_str(), opened.data(), opened.size() - 1) > 0) allowed_.require(opened.data());
  if (found.st_ino != request.inode) {
    throw base::Error(base::Errc::not_found, fmt::format("'{}' is another file by now than the one that was opened", path),
                      "open it once more");
  }
  const std::scoped_lock lock(mutex_);
  open_.push_front(file);
  const auto is_of_client = [&](const auto& each) { return each->client() == client; };
  const auto of_client = static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), is_of_client));
  if (of_client > options_.open_files_of_client) open_.erase(std::prev(std::find_if(open_.rbegin(), open_.rend(), is_of_client).base()));
  else if (open_.size() > options_.open_files) open_.pop_back();
  return file;
}

staging::Answer StagerFiles::read(const staging::ReadRequest& request, std::uint64_t client) {
  if (options_.answers_bytes() > options_.answers_bytes_max) return nlohmann::json{{"busy", true}};
  const auto file = file_of(request, client);
  staging::Answer answer(nlohmann::json::object(), std::vector<std::byte>(request.bytes));
  std::size_t done = 0;
  while (done < answer.bytes.size()) {
    const ssize_t result = ::pread(file->descriptor(), answer.bytes.data() + done, answer.bytes.size() - done,
                                   static_cast<off_t>(request.offset + done));
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) throw base::system_error(errno, fmt::format("cannot read '{}'", request.path));
    if (result == 0) break;
    done += static_cast<std::size_t>(result);
  }
  answer.bytes.resize(done);
  read_bytes_ += done;
  return answer;
}

StagerFiles::Counts StagerFiles::counts() {
  const std::scoped_lock lock(mutex_);
  return {open_.size(), read_bytes_};
}

void StagerFiles::forget(std::uint64_t client) {
  const std::scoped_lock lock(mutex_);
  open_.remove_if([&](const auto& each) { return each->client() == client; });
}

nlohmann::json StagerFiles::remove(const staging::RemoveRequest& request) const {
  const std::string path = allowed_.resolve_name(request.path);
  if (is_draining(path)) return {{"draining", true}};
  if (::unlink(path.c_str()) != 0) throw base::system_error(errno, fmt::format("cannot remove '{}'", path));
  return nlohmann::json::object();
}

nlohmann::json StagerFiles::rename(const staging::RenameRequest& request) const {
  const std::string from = allowed_.resolve_name(request.from), to = allowed_.resolve_name(request.to);
  if (is_draining(from) || is_draining(to)) return {{"draining", true}};
  struct stat found {};
  if (::lstat(from.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    throw base::Error(base::Errc::unsupported, fmt::format("'{}' is a directory: a stager renames files only", from),
                      "rename it where the file system is mounted");
  }
  if (::rename(from.c_str(), to.c_str()) != 0) throw base::system_error(errno, fmt::format("cannot rename '{}' to '{}'", from, to));
  return nlohmann::json::object();
}

}  // namespace glean::cli
