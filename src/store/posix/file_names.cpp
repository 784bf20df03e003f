// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "store/posix/file.hpp"

namespace glean::store {

namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::Error;

std::string cannot_write(const std::string& path) { return "cannot write '" + path + "'"; }

// By the effective user, unlike access(2).
bool writable(const fs::path& path, int mode) { return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0; }

// The path behind symbolic links, whether there is a file or not. Not by the standard library, which in a program under `glean run`
// asks as the program does, and would wait until the file is published.
fs::path follow_links(const std::string& path) {
  constexpr int links_max = 40;   // as the kernel
  fs::path target = fs::absolute(path);
  std::array<char, PATH_MAX> link{};
  for (int i = 0;; ++i) {
    const ssize_t length = readlink(target.c_str(), link.data(), link.size());
    if (length < 0) return target;
    if (i == links_max) throw base::system_error(ELOOP, cannot_write(path));
    target = target.parent_path() / std::string_view(link.data(), static_cast<std::size_t>(length));
  }
}

// Its real path.
fs::path check_directory(const fs::path& directory, const std::string& path) {
  const auto found = real_path(directory.string());
  if (!found) throw base::system_error(errno, cannot_write(path));
  const fs::path real(*found);
  if (!fs::is_directory(real)) throw base::system_error(ENOTDIR, cannot_write(path));
  return real;
}

// Returns whether there is one.
bool check_existing(const fs::path& target, const std::string& path, bool refuse_existing) {
  struct stat status {};
  if (stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    throw base::system_error(errno, cannot_write(path));
  }
  if (S_ISDIR(status.st_mode)) throw Error(Errc::exists, cannot_write(path) + ": it is a directory");
  if (!S_ISREG(status.st_mode)) throw Error(Errc::exists, cannot_write(path) + ": it is not a regular file");
  if (refuse_existing) {
    throw Error(Errc::exists, cannot_write(path) + ": the file exists", "remove it or choose another name");
  }
  const bool read_only = (status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
  if (read_only || !writable(target, W_OK)) {
    throw Error(Errc::permission, cannot_write(path) + ": the file is read-only",
                "make it writable or choose another name");
  }
  return true;
}

constexpr std::string_view before_unique = ".glean-", after_unique = ".part";

// ".name.glean-UNIQUE.part"; a long name is cut and told from others by its hash.
std::string working_name(const std::string& name, const std::string& unique) {
  const std::string suffix = fmt::format("{}{}{}", before_unique, unique, after_unique);
  const std::string whole = fmt::format(".{}{}", name, suffix);
  if (whole.size() <= NAME_MAX) return whole;
  const std::string hash = std::to_string(std::hash<std::string>{}(name));
  return fmt::format(".{}~{}{}", name.substr(0, NAME_MAX - 2 - hash.size() - suffix.size()), hash, suffix);
}

// The system takes one byte more, and PnetCDF crashes at that.
constexpr std::size_t longest_path = PATH_MAX - 2;

// An error quotes what tells such a path from others: its end.
void check_length(const std::string& working, const std::string& final_path) {
  if (working.size() <= longest_path) return;
  constexpr std::size_t shown = 60;
  const std::string end = final_path.substr(final_path.size() - std::min(final_path.size(), shown));
  const bool has_other_name = working != final_path;
  const std::string more =
      has_other_name ? fmt::format(", and with the name that the file has until it is complete {}", working.size()) : "";
  throw Error(Errc::invalid_argument, fmt::format("the path '...{}' is too long: it has {} bytes{}; at most {} can be used", end,
                                                  final_path.size(), more, longest_path),
              has_other_name ? "choose a shorter one, or publish = \"in-place\" for this file" : "choose a shorter one");
}

}  // namespace

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(::realpath(path.c_str(), nullptr), &std::free);
  return found ? std::optional<std::string>(found.get()) : std::nullopt;
}

std::string resolved_path(const std::string& path) {
  const fs::path target = follow_links(path);
  const auto directory = real_path(target.parent_path().string());
  if (!directory) {
    const std::string why = errno == ENOENT ? "there is no directory '" + target.parent_path().string() + "'"
                                            : std::generic_category().message(errno);
    throw Error(Errc::not_found, "cannot find '" + path + "': " + why);
  }
  return (fs::path(*directory) / target.filename()).string();
}

std::string working_path(const std::string& final_path, base::Publish publish, const std::string& unique) {
  if (publish == base::Publish::in_place) return final_path;
  const fs::path path(final_path);
  return (path.parent_path() / working_name(path.filename().string(), unique)).string();
}

std::string unique_in(std::string_view working_path) {
  const std::size_t begin = working_path.rfind(before_unique);
  if (begin == working_path.npos || !working_path.ends_with(after_unique)) return {};
  working_path.remove_suffix(after_unique.size());
  return std::string(working_path.substr(begin + before_unique.size()));
}

FileNames choose_names(const std::string& path, base::Publish publish, bool refuse_existing,
                       const std::string& unique) {
  if (path.empty()) throw Error(Errc::invalid_argument, "the name of a file is empty");
  const fs::path target = follow_links(path);
  if (target.filename().empty() || target.filename() == "." || target.filename() == "..") {
    throw Error(Errc::exists, cannot_write(path) + ": it is a directory");
  }
  const fs::path directory = check_directory(target.parent_path(), path);
  const std::string final_path = (directory / target.filename()).string();
  const bool exists = check_existing(final_path, path, refuse_existing);
  const bool makes_a_name = !exists || publish == base::Publish::rename;
  if (makes_a_name && !writable(directory, W_OK | X_OK)) throw base::system_error(errno, cannot_write(path));
  const FileNames names{working_path(final_path, publish, unique), final_path};
  check_length(names.working_path, final_path);
  return names;
}

}  // namespace glean::store
