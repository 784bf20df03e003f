// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/memory.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace glean::topology {
namespace {

// The figure behind `name` in lines of "name figure" or "name: figure kB".
std::optional<Bytes> figure(std::istream& lines, const std::string& name) {
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    Bytes value = 0;
    if (!(words >> word >> value)) continue;
    if (word.ends_with(':')) word.pop_back();
    if (word == name) return value;
  }
  return std::nullopt;
}

std::optional<Bytes> figure_of_file(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  return figure(file, name);
}

// A file of one number; nullopt where it is missing or says "max".
std::optional<Bytes> number(const std::string& path) {
  std::ifstream file(path);
  Bytes value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Names of the files that versions 1 and 2 of control groups use for the same things.
struct GroupFiles {
  std::string mount;
  std::string limit, usage, reclaimable;
};

void apply_limit(Memory& memory, const std::string& directory, const GroupFiles& files) {
  const auto limit = number(directory + "/" + files.limit);
  if (!limit || *limit >= memory.total_bytes) return;
  const Bytes usage = number(directory + "/" + files.usage).value_or(0);
  const Bytes cache = figure_of_file(directory + "/memory.stat", files.reclaimable).value_or(0);
  const Bytes used = usage - std::min(usage, cache);
  memory.total_bytes = *limit;
  memory.available_bytes = std::min(memory.available_bytes, *limit - std::min(*limit, used));
}

// The group and all above it; inside a container the path may be the host's and not exist, but the mount does.
void apply_limits(Memory& memory, const GroupFiles& files, std::string group) {
  while (true) {
    apply_limit(memory, files.mount + group, files);
    if (group.empty()) return;
    group.erase(group.find_last_of('/'));
  }
}

}  // namespace

Memory discover_memory(const Places& places) {
  const std::string meminfo = places.proc + "/meminfo";
  const auto total = figure_of_file(meminfo, "MemTotal");
  const auto available = figure_of_file(meminfo, "MemAvailable");
  if (!total || !available) throw base::Error(base::Errc::io, "cannot read '" + meminfo + "'");
  Memory memory{*total * base::KiB, *available * base::KiB};

  // "4:memory:/job/step" (version 1), "0::/job/step" (version 2)
  std::ifstream groups(places.proc + "/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group == "/" || !group.starts_with('/')) group.clear();
    if (controllers == ",,") {
      apply_limits(memory, {places.sys + "/fs/cgroup", "memory.max", "memory.current", "inactive_file"}, group);
    } else if (controllers.find(",memory,") != std::string::npos) {
      apply_limits(memory,
                   {places.sys + "/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                    "total_inactive_file"},
                   group);
    }
  }
  return memory;
}

}  // namespace glean::topology
