// SPDX-License-Identifier: BSD-3-Clause
#include "cli/stager_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
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

// What glob(3) may look through: a pattern may lead up, by "..", and round in circles, by links.
struct Search {
  const service::AllowedPaths& allowed;
  std::size_t names_left;
  bool is_too_long = false;
};
thread_local Search* search = nullptr;

// What is not below the directories of the service is passed over, as what is no directory is.
void* open_directory(const char* path) {
  const int descriptor = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  DIR* directory = nullptr;
  try {
    search->allowed.require_names_in(descriptor);
    directory = ::fdopendir(descriptor);
  } catch (const base::Error&) {
    errno = ENOTDIR;
  }
  if (directory == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
  }
  return directory;
}

dirent* next_name(void* directory) {
  dirent* const found = ::readdir(static_cast<DIR*>(directory));
  if (found == nullptr) return nullptr;
  if (search->names_left == 0) search->is_too_long = true;
  else --search->names_left;
  return search->is_too_long ? nullptr : found;
}

// A name that is there is a name, whatever characters are in it.
std::vector<std::string> paths_of(const std::string& pattern, Search limits) {
  struct stat status {};
  if (::lstat(pattern.c_str(), &status) == 0) return {pattern};
  glob_t found{};
  found.gl_opendir = open_directory;
  found.gl_readdir = next_name;
  found.gl_closedir = [](void* directory) { ::closedir(static_cast<DIR*>(directory)); };
  found.gl_stat = [](const char* path, struct stat* into) { return ::stat(path, into); };
  found.gl_lstat = [](const char* path, struct stat* into) { return ::lstat(path, into); };
  search = &limits;
  const int result = ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT | GLOB_ALTDIRFUNC, nullptr, &found);
  const int reason = errno;
  search = nullptr;
  std::vector<std::string> paths;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (limits.is_too_long) {
    throw base::Error(base::Errc::out_of_range, fmt::format("'{}' has more names to look through than a stager does at once", pattern),
                      "a pattern with wildcards in fewer directories, or without '..' behind them, has less");
  }
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
  struct stat found {};
  int error = 0;
  // A directory of the list itself is below none; programs ask whether it is there.
  const std::string real = store::real_path(request.path).value_or("");
  const bool is_directory = std::find(options_.directories.begin(), options_.directories.end(), real) != options_.directories.end();
  try {
    if (is_directory) {
      path = real;
      if (::lstat(path.c_str(), &found) != 0) error = errno;
    } else {
      const service::AllowedName name = allowed_.resolve_name(allowed_.resolve(request.path));
      path = name.path();
      if (::fstatat(name.directory(), name.last(), &found, AT_SYMLINK_NOFOLLOW) != 0) error = errno;
    }
  } catch (const base::Error& caught) {
    if (caught.code() == base::Errc::not_found) return status;   // its directory is not there
    throw;
  }
  if (error == 0) status = status_from(found, path);
  else if (error != ENOENT && error != ENOTDIR) throw base::system_error(error, fmt::format("cannot look at '{}'", path));
  status.is_draining = options_.is_draining(path);
  return status;
}

// By the name that the pattern makes of it: `directory` is what its front, `final_directory`, is called there.
void StagerFiles::add_draining(const std::string& pattern, const std::string& directory, const std::string& final_directory,
                               std::vector<std::string>& paths) const {
  const std::string front = final_directory == "/" ? "" : final_directory;
  for (const std::string& path : options_.draining_paths()) {
    if (!path.starts_with(front + "/")) continue;
    const std::string name = (directory == "/" ? "" : directory) + path.substr(front.size());
    if (name == pattern || ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) paths.push_back(name);
  }
}

staging::ListAnswer StagerFiles::list(const staging::ListRequest& request) const {
  const std::string directory = plain_directory(request.pattern);
  std::string final_directory;
  try {
    final_directory = std::filesystem::path(allowed_.resolve_name(directory + "/x").path()).parent_path().string();
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::not_found) return {};
    throw;
  }
  std::vector<std::string> paths = paths_of(request.pattern, {allowed_, options_.searched_max});
  add_draining(request.pattern, directory, final_directory, paths);
  std::erase_if(paths, [&](const std::string& path) { return path <= request.after; });
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
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
  allowed_.require_open(descriptor);   // a directory on the way may have become a link meanwhile
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
  const service::AllowedName name = allowed_.resolve_name(request.path);
  const std::string path = name.path();
  if (is_draining(path)) return {{"draining", true}};
  if (::unlinkat(name.directory(), name.last(), 0) != 0) throw base::system_error(errno, fmt::format("cannot remove '{}'", path));
  return nlohmann::json::object();
}

nlohmann::json StagerFiles::rename(const staging::RenameRequest& request) const {
  const service::AllowedName from = allowed_.resolve_name(request.from), to = allowed_.resolve_name(request.to);
  const std::string path = from.path(), new_path = to.path();
  if (is_draining(path) || is_draining(new_path)) return {{"draining", true}};
  struct stat found {};
  if (::fstatat(from.directory(), from.last(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode)) {
    throw base::Error(base::Errc::unsupported, fmt::format("'{}' is a directory: a stager renames files only", path),
                      "rename it where the file system is mounted");
  }
  if (::renameat(from.directory(), from.last(), to.directory(), to.last()) != 0) {
    throw base::system_error(errno, fmt::format("cannot rename '{}' to '{}'", path, new_path));
  }
  return nlohmann::json::object();
}

}  // namespace glean::cli
