// SPDX-License-Identifier: BSD-3-Clause
//
// Where the files are that a program looks for by the names of a rule: on the node, in their container, or where they say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gather/known_containers.hpp"
#include "gather/listed_names.hpp"
#include "gather/node_files.hpp"

namespace glean::gather {

// What a call is about to do with a name.
struct Intent {
  bool writes = false;      // to the file, or to how long it is
  bool creates = false;
  bool truncates = false;
  bool needs_new = false;   // O_EXCL
};

class Placing {
 public:
  // `may_begin`: this process is a rank, whose new files are gathered. Others find those that there are.
  Placing(NodeFiles files, bool may_begin)
      : files_(std::move(files)), rules_(files_.settings().rules, files_.settings().node), may_begin_(may_begin) {}

  [[nodiscard]] const NodeFiles& files() const { return files_; }
  [[nodiscard]] const GatherRules& rules() const { return rules_; }

  // The path to make the call with, while the lock is held; nothing: the program's own. The lock is released meanwhile where a file is
  // brought out of its container, or one is waited for that is on its way there. Any thread; blocks.
  [[nodiscard]] std::optional<std::string> lead(const RankFile& file, Intent intent, NodeLock& lock);
  // In place of unlink(). nothing_here: the call is to be made.
  enum class Done { nothing_here, done };
  [[nodiscard]] Done remove(const RankFile& file, NodeLock& lock);
  // In place of rename(), of which one name or both are of a rule. Returns an error number; 0: it is done; nothing: the call is to be made.
  [[nodiscard]] std::optional<int> rename(const std::string& from, const std::optional<RankFile>& from_file, const std::string& to,
                                          const std::optional<RankFile>& to_file, NodeLock& lock);
  // There is such a file on the node or in the container. With the lock.
  [[nodiscard]] bool has(const RankFile& file);
  // ListedNames::find()
  [[nodiscard]] std::vector<ListedName> names_in(std::string_view directory) { return listed_.find(directory); }
  // All open files that nothing writes any more, of those with this inode: they are closed.
  void settle(std::uint64_t device, std::uint64_t inode) const;

 private:
  struct Contained {
    std::shared_ptr<const KnownContainer> container;
    store::LogicalFile file;
  };
  [[nodiscard]] std::optional<Contained> find_contained(const RankFile& file);
  [[nodiscard]] bool is_contained(const RankFile& file, const std::optional<Family>& family);
  [[nodiscard]] std::optional<std::string> begin(const RankFile& file);
  [[nodiscard]] std::optional<std::string> begin_empty(const RankFile& file);
  [[nodiscard]] std::string bring_out(const RankFile& file, const Contained& contained, State state, NodeLock& lock);
  void forget(const RankFile& file);
  // Until the container is there that is being written; the lock is released meanwhile.
  static void wait_until_packed(NodeLock& lock);

  NodeFiles files_;
  GatherRules rules_;
  bool may_begin_;
  KnownContainers containers_;
  ListedNames listed_{files_, rules_};
};

}  // namespace glean::gather
