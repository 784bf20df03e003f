// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "store/container/defects.hpp"
#include "store/container/pack.hpp"
#include "store/posix/file.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::store {
namespace {

namespace fs = std::filesystem;

// Why the file cannot be written there, in words; empty: it can. Directories that are not there yet are no obstacle.
std::string obstacle(const fs::path& directory, const std::string& name) {
  fs::path path = directory;
  const fs::path relative(name);
  for (auto part = relative.begin(); part != relative.end(); ++part) {
    path /= *part;
    const bool is_last = std::next(part) == relative.end();
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return errno == ENOENT ? "" : base::system_error(errno, shown_name(name)).what();
    if (S_ISLNK(status.st_mode)) {
      return fmt::format("{}: '{}' is a symbolic link, which may lead anywhere", shown_name(name), path.string());
    }
    if (!is_last && !S_ISDIR(status.st_mode)) return fmt::format("{}: '{}' is no directory", shown_name(name), path.string());
    if (is_last && !S_ISREG(status.st_mode)) return fmt::format("{}: '{}' is no regular file", shown_name(name), path.string());
  }
  return {};
}

void check_names(const std::vector<LogicalFile>& files, const fs::path& directory) {
  std::vector<std::string> wrong;
  std::set<std::string> names;
  for (const LogicalFile& file : files) {
    if (!is_safe_name(file.name)) {
      wrong.push_back(fmt::format("{} leads out of the directory, or is no name", shown_name(file.name)));
      continue;
    }
    if (!names.insert(file.name).second) wrong.push_back(fmt::format("{} is there twice", shown_name(file.name)));
    std::string why = obstacle(directory, file.name);
    if (!why.empty()) wrong.push_back(std::move(why));
  }
  for (const std::string& name : names) {
    for (fs::path parent = fs::path(name).parent_path(); !parent.empty(); parent = parent.parent_path()) {
      if (names.contains(parent.string())) wrong.push_back(fmt::format("{} is a file and a directory", shown_name(parent.string())));
    }
  }
  if (wrong.empty()) return;
  constexpr std::size_t shown = 20;
  std::string all;
  for (std::size_t i = 0; i < std::min(wrong.size(), shown); ++i) all += (i == 0 ? "" : "; ") + wrong[i];
  if (wrong.size() > shown) all += fmt::format("; and {} more", wrong.size() - shown);
  throw base::Error(base::Errc::invalid_argument, "nothing was extracted: " + all,
                    "take what is good by its name, or a single task with `glean container cat`");
}

class Extracting {
 public:
  Extracting(SystemCalls& calls, const Container& container, const Progress& progress)
      : calls_(calls), container_(container), progress_(progress), buffer_(container_piece_bytes) {}

  void extract(const LogicalFile& from, const fs::path& path) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) throw base::system_error(error.value(), fmt::format("cannot make the directory '{}'", path.parent_path().string()));
    const std::string unique = fmt::format("{}-{}", getpid(), base::now_ns());
    const FileNames names = choose_names(path.string(), base::Publish::rename, false, unique);
    const int descriptor = calls_.open(names.working_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) throw base::system_error(-descriptor, fmt::format("cannot create '{}'", path.string()));
    calls_.close(descriptor);
    try {
      hand_on_permissions(names);
      File file(calls_, names, base::DirectIo::off);
      copy(from, file);
      remove_sidecar(calls_, names.final_path);   // of the file that is replaced
      file.publish();
    } catch (...) {
      calls_.unlink(names.working_path.c_str());
      throw;
    }
    ++done_.files;
  }
  [[nodiscard]] Extracted done() const { return done_; }

 private:
  void copy(const LogicalFile& from, File& file) {
    const TaskReader reader = container_.reader(container_.task(from.rank));
    file.resize(from.bytes);
    for (Bytes at = 0; at < from.bytes;) {
      const auto part = std::span(buffer_).first(static_cast<std::size_t>(std::min<Bytes>(container_piece_bytes, from.bytes - at)));
      if (!reader.is_hole(from.begin + at, part.size())) {
        static_cast<void>(reader.read(part, from.begin + at));
        file.write(part, at);
      }
      at += part.size();
      done_.bytes += part.size();
      progress_(done_.bytes);
    }
  }

  SystemCalls& calls_;
  const Container& container_;
  const Progress& progress_;
  std::vector<std::byte> buffer_;
  Extracted done_;
};

}  // namespace

Extracted extract(SystemCalls& calls, const Container& container, const std::vector<LogicalFile>& files, const std::string& directory,
                  const Progress& progress) {
  const auto real = real_path(directory);
  if (!real) throw base::system_error(errno, fmt::format("cannot extract to '{}'", directory));
  check_names(files, *real);
  Extracting extracting(calls, container, progress);
  for (const LogicalFile& file : files) extracting.extract(file, fs::path(*real) / file.name);
  return extracting.done();
}

}  // namespace glean::store
