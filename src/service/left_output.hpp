// SPDX-License-Identifier: BSD-3-Clause
//
// What each node of a dead session knows of an output, and what that comes to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/node_progress.hpp"
#include "pool/pool.hpp"
#include "store/description.hpp"

namespace glean::service {

// What a node knows of an output, or what several know together: then it is in every node's slot, and the drains go by it.
struct LeftOutput {
  nodes::NodeProgress progress;
  std::set<int> nodes;                     // that have it open
  std::uint64_t inode = 0;                 // of the publisher's file, which it was about to rename
  std::uint64_t synchronized_writes = 0;   // of any node: what died with the others may have been told
  std::uint64_t kept_from_step = 0;        // of the nodes that keep until durable: pool::SlotNodes
  std::uint64_t steps_durable = 0;         // of all stagers, as any node has heard
  std::uint64_t ticks_durable = 0;         // the same of a raw output: all ticks before
  bool has_publisher = false, is_in_place = false, is_raw = false, is_renamed = false, is_removed = false;
  bool is_at_stagers = false;              // all of it, and closed
  bool has_stager = false;                 // among the nodes that have it open
  bool is_made_by_ranks = false;           // a raw output
  bool was_opened = false;                 // by all nodes, as one of these has seen: until then it has nothing
  bool is_sent_again = false;              // a raw output with which all stagers begin anew: the other nodes send what they have kept
  bool is_to_be_opened = false;            // by stagers, some of which may have it open; none has written what they do not all have
  std::string error, new_path, new_working_path;

  void join(const LeftOutput& other);
  // By the publisher: what that has open no more it has published, or it has failed there; not a raw output of which all nodes had made
  // their parts durable, which it would keep. The program may have removed it since. What stagers had all of and have open no more
  // is theirs: they have published it, or have said why not.
  [[nodiscard]] bool is_published() const;
  // What has failed, what was just being opened, what the program has removed, and what the publisher has published and forgotten, each
  // node ends by itself. Clients of stagers that have all of it are not needed either.
  [[nodiscard]] bool needs(const std::vector<int>& missing) const;
};
// By what all nodes call it; 0: it was just being opened.
using LeftOutputs = std::map<std::uint64_t, LeftOutput>;

// In one pool. Local.
[[nodiscard]] LeftOutputs left_in(const pool::Pool& pool);
void join(LeftOutputs& all, const LeftOutputs& more);
// For another process of the job, which runs on a machine of the same kind. decode() throws io for what is cut off.
[[nodiscard]] std::string encode(const LeftOutputs& outputs);
[[nodiscard]] LeftOutputs decode(std::string_view bytes);

// Under the name that it has by now. Empty: the output is not described. Local.
[[nodiscard]] store::OutputDescription names_of(const pool::Pool& pool, std::uint32_t index);
// Where the file is that this node has written into, if it has got its final name, or that of one that was not closed. Local.
[[nodiscard]] std::optional<std::string> find_renamed(const store::FileNames& names, const pool::OutputSlot& slot);
// The storage refuses it, and all ranks of the node had closed it; or the stagers had all of it, and what they say of it counts: it is
// tried again. Local.
[[nodiscard]] bool is_refused(const pool::Pool& pool, const pool::OutputSlot& slot);

}  // namespace glean::service
