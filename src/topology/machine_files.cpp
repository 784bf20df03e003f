// SPDX-License-Identifier: BSD-3-Clause
#include "topology/machine_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "topology/text.hpp"

namespace glean::topology {
namespace {

Machine read_machine(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    const base::Error why = base::system_error(errno, fmt::format("cannot read machine file '{}'", path));
    throw base::Error(why.code(), why.what(), "glean calibrate writes one of the machine that it runs on");
  }
  return machine_from_toml(text, path);
}

}  // namespace

std::vector<std::string> machine_directories() {
  std::vector<std::string> directories;
  if (const char* named = std::getenv("GLEAN_MACHINES"); named && *named != '\0') directories.emplace_back(named);
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) directories.push_back(program.parent_path().parent_path() / "share/glean/machines");
  directories.emplace_back(GLEAN_INSTALLED_MACHINES);
  return directories;
}

std::vector<std::string> machine_names(const std::vector<std::string>& directories) {
  std::set<std::string> names;
  for (const std::string& directory : directories) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      if (entry.path().extension() == ".toml") names.insert(entry.path().stem());
    }
  }
  return {names.begin(), names.end()};
}

Machine load_machine(const std::string& name_or_path, const std::vector<std::string>& directories) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) return read_machine(name_or_path);
  for (const std::string& directory : directories) {
    if (name_or_path.empty()) break;
    const auto path = std::filesystem::path(directory) / (name_or_path + ".toml");
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return read_machine(path);
  }
  const std::vector<std::string> names = machine_names(directories);
  if (name_or_path.empty() && !names.empty()) {
    throw base::Error(base::Errc::invalid_argument, "no machine is named",
                      fmt::format("known are {}; a file is named by a path", fmt::join(names, ", ")));
  }
  if (names.empty()) {
    throw base::Error(base::Errc::not_found, fmt::format("there is no machine '{}'", name_or_path),
                      fmt::format("no machine files are in {}; GLEAN_MACHINES can name their directory", fmt::join(directories, ", ")));
  }
  throw base::Error(base::Errc::not_found,
                    fmt::format("there is no machine '{}'; did you mean '{}'?", name_or_path, base::nearest(name_or_path, names)),
                    fmt::format("known are {}; a file is named by a path", fmt::join(names, ", ")));
}

}  // namespace glean::topology
