// SPDX-License-Identifier: BSD-3-Clause
//
// Names that a directory has besides those that the file system lists: of files on the node, and of files in containers.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gather/gather_rules.hpp"
#include "gather/node_files.hpp"

namespace glean::gather {

struct ListedName {
  std::string name;
  // For d_ino: the same for this path at all times, not 0, and mostly smaller than that of the container: cp -r and rm -r take entries in
  // their order, and the files are to come first.
  std::uint64_t inode = 0;
  friend bool operator==(const ListedName&, const ListedName&) = default;
};

class ListedNames {
 public:
  // Both live longer.
  ListedNames(const NodeFiles& files, const GatherRules& rules) : files_(files), rules_(rules) {}

  // Each name once, in order; none that is in the directory itself. `directory` is absolute and without links. Any thread, without the
  // lock; blocks. Costs a comparison for each rule where none is about the directory, and else a look at the containers: their indexes are
  // read when they have changed.
  [[nodiscard]] std::vector<ListedName> find(std::string_view directory);

 private:
  struct InContainer {
    std::string path, name;   // of the program's, and in the container
    std::string container;    // into which it would be gathered here; empty: not known yet
  };
  // The names of a container as they were when the file had this status.
  struct Contents {
    struct stat status {};
    std::unordered_map<std::string, std::vector<InContainer>> of_directory;
    std::unordered_set<std::string> directories_known;   // where only names of rules are left
    std::size_t names = 0;
  };
  using Removed = std::map<std::string, std::set<std::string>>;   // names, by container
  [[nodiscard]] std::string leads_to(const std::string& path, const std::string& container, const std::string& name) const;
  void add_from_node(std::string_view directory, const std::vector<std::string>& patterns, std::set<std::string>& paths,
                     Removed& removed) const;
  void add_from_container(std::string_view directory, const std::string& container, std::set<std::string>& paths, const Removed& removed);
  [[nodiscard]] Contents* contents(const std::string& container);

  const NodeFiles& files_;
  const GatherRules& rules_;
  std::mutex lock_;
  std::map<std::string, Contents> known_;   // by container
  std::size_t names_known_ = 0;
};

}  // namespace glean::gather
