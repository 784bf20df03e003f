// SPDX-License-Identifier: BSD-3-Clause
#include "service/allowed_paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/error.hpp"
#include "store/posix/file.hpp"

namespace glean::service {
namespace {

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || (path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/');
}

std::string path_of(int descriptor) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), path.data(), path.size());
  if (length < 0) throw base::system_error(errno, "cannot find out where an open file is");
  if (length == static_cast<ssize_t>(path.size())) throw base::system_error(ENAMETOOLONG, "cannot find out where an open file is");
  return {path.data(), static_cast<std::size_t>(length)};
}

}  // namespace

AllowedName::~AllowedName() {
  if (directory_ >= 0) ::close(directory_);
}
std::string AllowedName::path() const { return (std::filesystem::path(path_of(directory_)) / last_).string(); }

void AllowedPaths::require_open(int descriptor) const { require(path_of(descriptor)); }
void AllowedPaths::require_names_in(int directory) const { require((std::filesystem::path(path_of(directory)) / "x").string()); }

void AllowedPaths::require(const std::string& final_path) const {
  const auto is_above = [&](const std::string& each) { return is_below(final_path, each); };
  if (std::none_of(directories_.begin(), directories_.end(), is_above)) {
    throw base::Error(base::Errc::permission, fmt::format("the stager {} below {} only, and '{}' is not there", does_,
                                                          fmt::join(directories_, ", "), final_path),
                      "`glean stage --directory` says where it may");
  }
}

void AllowedPaths::require_lexically(const std::string& path) const {
  require(std::filesystem::absolute(path).lexically_normal().string());
}

std::string AllowedPaths::resolve(const std::string& path) const {
  std::string final_path;
  try {
    final_path = store::resolved_path(path);
  } catch (const base::Error&) {
    require_lexically(path);
    throw;
  }
  require(final_path);
  return final_path;
}

AllowedName AllowedPaths::resolve_name(const std::string& path) const {
  const std::filesystem::path name(path);
  const std::string last = name.filename().string();
  if (last.empty() || last == "." || last == "..") {
    throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' is no name of a file", path));
  }
  const int directory = ::open(name.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    const int error = errno;
    require_lexically(path);
    throw base::system_error(error, fmt::format("cannot find '{}'", path));
  }
  AllowedName found(directory, last);
  require(found.path());
  return found;
}

}  // namespace glean::service
