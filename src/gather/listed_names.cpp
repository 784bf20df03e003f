// SPDX-License-Identifier: BSD-3-Clause
#include "gather/listed_names.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "gather/directory_names.hpp"
#include "gather/known_containers.hpp"
#include "store/container/container.hpp"

namespace glean::gather {
namespace {

constexpr std::size_t names_known_most = 1'000'000;
constexpr std::uint64_t inodes = 65535;

std::string_view directory_part(std::string_view path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

// The paths that a file of this name in the container may have: from the container's directory on, and the whole one.
std::array<std::string, 2> paths_of(const std::string& container, const std::string& name) {
  std::string relative = container.substr(0, container.rfind('/') + 1) + name, whole = "/" + name;
  if (relative == whole) whole.clear();
  return {std::move(relative), std::move(whole)};
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& container) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return fnmatch(pattern.c_str(), container.c_str(), FNM_PATHNAME) == 0; });
}

std::set<std::string> matching_paths(const std::vector<std::string>& patterns) {
  std::set<std::string> found;
  for (const std::string& pattern : patterns) {
    glob_t names{};
    if (glob(pattern.c_str(), 0, nullptr, &names) == 0) found.insert(names.gl_pathv, names.gl_pathv + names.gl_pathc);
    globfree(&names);
  }
  return found;
}

}  // namespace

// Into which container the path would be gathered here, if a rule makes it this file of this container; empty: none does.
std::string ListedNames::leads_to(const std::string& path, const std::string& container, const std::string& name) const {
  const auto file = rules_.find(path);
  if (!file || file->name != name) return {};
  const bool is_of_node = !file->containers_of_nodes.empty() && matches_any({file->containers_of_nodes}, container);
  return file->container == container || is_of_node ? file->container : std::string();
}

// Null: it is none. With lock_.
ListedNames::Contents* ListedNames::contents(const std::string& container) {
  struct stat status {};
  if (fstatat(AT_FDCWD, container.c_str(), &status, 0) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const auto known = known_.find(container);
  if (known != known_.end() && is_same_file(known->second.status, status)) return &known->second;
  Contents found;
  found.status = status;
  try {
    store::SystemCalls calls;
    const store::Container opened(calls, container);
    for (const store::LogicalFile& file : opened.files()) {
      for (std::string& path : paths_of(container, file.name)) {
        if (path.empty()) continue;
        auto& of_directory = found.of_directory[std::string(directory_part(path))];
        of_directory.push_back({std::move(path), file.name, {}});
        ++found.names;
      }
    }
  } catch (const base::Error&) {
    return nullptr;   // something else has that name
  }
  if (known != known_.end()) names_known_ -= known->second.names, known_.erase(known);
  if (names_known_ + found.names > names_known_most) known_.clear(), names_known_ = 0;
  names_known_ += found.names;
  return &(known_[container] = std::move(found));
}

void ListedNames::add_from_node(std::string_view directory, const std::vector<std::string>& patterns, std::set<std::string>& paths,
                                Removed& removed) const {
  const NodeLock lock(files_.root());
  for (const Family& family : files_.families()) {
    const std::string& container = family.container();
    if (!matches_any(patterns, container)) continue;
    const std::vector<std::string> names = family.removed();
    const auto& gone = removed[container] = {names.begin(), names.end()};
    for (const State state : all_states) {
      for (const std::string& name : family.names(state)) {
        if (state == State::packing && gone.contains(name)) continue;
        for (const std::string& path : paths_of(container, name)) {
          if (directory_part(path) == directory && leads_to(path, container, name) == container) paths.insert(path);
        }
      }
    }
  }
}

void ListedNames::add_from_container(std::string_view directory, const std::string& container, std::set<std::string>& paths,
                                     const Removed& removed) {
  const std::unique_lock lock(lock_);
  Contents* const found = contents(container);
  if (found == nullptr) return;
  const auto names = found->of_directory.find(std::string(directory));
  if (names == found->of_directory.end()) return;
  if (found->directories_known.emplace(directory).second) {
    for (InContainer& each : names->second) each.container = leads_to(each.path, container, each.name);
    std::erase_if(names->second, [](const InContainer& each) { return each.container.empty(); });
  }
  for (const InContainer& each : names->second) {
    const auto gone = removed.find(each.container);
    if (gone == removed.end() || !gone->second.contains(each.name)) paths.insert(each.path);
  }
}

// First the node, then the containers: what is gathered meanwhile is found in one of them at least.
std::vector<ListedName> ListedNames::find(std::string_view directory) {
  const std::vector<std::string> patterns = rules_.containers_for(directory);
  if (patterns.empty()) return {};
  std::set<std::string> paths;
  Removed removed;
  add_from_node(directory, patterns, paths, removed);
  for (const std::string& container : matching_paths(patterns)) add_from_container(directory, container, paths, removed);
  if (paths.empty()) return {};
  const std::vector<std::string> own = entries_of(std::string(directory));   // in order
  std::vector<ListedName> listed;
  for (const std::string& path : paths) {
    std::string name = path.substr(path.rfind('/') + 1);
    if (!std::binary_search(own.begin(), own.end(), name)) listed.push_back({std::move(name), 1 + hash_of(path) % inodes});
  }
  return listed;
}

}  // namespace glean::gather
