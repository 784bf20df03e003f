// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/unclosed.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <functional>

#include "base/error.hpp"

namespace glean::store {
namespace {

constexpr char suffix[] = ".unclosed";

bool leads_to(const std::string& path, const struct stat& file) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && found.st_ino == file.st_ino && found.st_dev == file.st_dev;
}

void synchronize_directory(SystemCalls& calls, const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int descriptor = calls.open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  const int result = descriptor < 0 ? descriptor : calls.fsync(descriptor);
  if (descriptor >= 0) calls.close(descriptor);
  // Some network file systems have no fsync of directories; their renames are durable or cannot be made so.
  if (result < 0 && result != -EINVAL && result != -EOPNOTSUPP) throw base::system_error(-result, "cannot publish '" + path + "'");
}

}  // namespace

std::string unclosed_path(const std::string& final_path) {
  const std::filesystem::path path(final_path);
  std::string name = path.filename().string();
  if (name.size() + sizeof suffix - 1 > NAME_MAX) {
    const std::string hash = "~" + std::to_string(std::hash<std::string>{}(name));
    name = name.substr(0, NAME_MAX - (sizeof suffix - 1) - hash.size()) + hash;
  }
  return (path.parent_path() / (name + suffix)).string();
}

bool is_unclosed_path(const std::string& path) { return path.ends_with(suffix); }

std::string publish_unclosed(SystemCalls& calls, const FileNames& names) {
  struct stat file {}, old {};
  if (stat(names.working_path.c_str(), &file) != 0) throw base::system_error(errno, "cannot find '" + names.working_path + "'");
  std::string path = names.final_path;
  int result = names.working_path == path ? 0 : calls.rename_new(names.working_path.c_str(), path.c_str());
  if (result == -EEXIST && leads_to(path, file)) {   // it has both names since an earlier try
    result = calls.unlink(names.working_path.c_str());
  } else if (result == -EEXIST) {
    path = unclosed_path(path);
    const int descriptor = stat(names.final_path.c_str(), &old) == 0 ? calls.open(names.working_path.c_str(), O_RDONLY | O_CLOEXEC, 0) : -1;
    if (descriptor >= 0) {   // a user that may read the one may read the other, if that can be
      static_cast<void>(fchmod(descriptor, old.st_mode & 07777));
      calls.close(descriptor);
    }
    result = calls.rename(names.working_path.c_str(), path.c_str());
  }
  if (result < 0) throw base::system_error(-result, "cannot publish '" + path + "'");
  synchronize_directory(calls, path);
  return path;
}

std::optional<std::string> find_unclosed(const std::string& final_path, std::uint64_t inode) {
  for (const std::string& path : {final_path, unclosed_path(final_path)}) {
    struct stat found {};
    if (inode != 0 && stat(path.c_str(), &found) == 0 && found.st_ino == inode) return path;
  }
  return std::nullopt;
}

}  // namespace glean::store
