// SPDX-License-Identifier: BSD-3-Clause
#include "service/allowed_paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "store/posix/file.hpp"

namespace glean::service {
namespace {

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || (path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/');
}

}  // namespace

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

std::string AllowedPaths::resolve_name(const std::string& path) const {
  const std::filesystem::path name(path);
  const std::string last = name.filename().string();
  if (last.empty() || last == "." || last == "..") {
    throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' is no name of a file", path));
  }
  const auto directory = store::real_path(name.parent_path().string());
  if (!directory) {
    const int error = errno;
    require_lexically(path);
    throw base::system_error(error, fmt::format("cannot find '{}'", path));
  }
  std::string found = (std::filesystem::path(*directory) / last).string();
  require(found);
  return found;
}

}  // namespace glean::service
