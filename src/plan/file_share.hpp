// SPDX-License-Identifier: BSD-3-Clause
//
// How the nodes of a job write one file together: which of them writes which part of it. What every node needs to work that out
// for itself, so that it is neither sent around nor kept as a table of all nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/domains.hpp"
#include "plan/plan.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

struct FileShare {
  topology::Machine machine{};
  std::vector<topology::NodeId> machine_nodes{};   // node i of the job is this one of the machine, ascending; empty: its node i
  std::int64_t nodes = 1;          // of the job, or its stagers
  std::int64_t first = 0;          // the node of the job that is node 0 here: those before it write nothing, stagers do it for them
  int aggregators = 1;             // of each I/O group
  Bytes window_bytes = 0;          // of file domains
  Bytes request_bytes = 0;         // of a write; whole ones make a window; both 0, of one node: as the drain is set up
  std::int64_t publisher = 0;      // the node of the job that writes the header and publishes
  // More than one node has to do with the file.
  [[nodiscard]] bool is_shared() const { return nodes > 1 || first > 0; }
  friend bool operator==(const FileShare&, const FileShare&) = default;
};

// As if nothing were known of a machine but how many nodes it has: each is a group of its own, or so many of them are a group.
[[nodiscard]] topology::Machine plain_machine(std::int64_t nodes, std::int64_t nodes_per_group = 1);

// For a file of which nothing is known but that these stagers write it, for so many clients: `writers` of them take turns, a request each.
[[nodiscard]] FileShare share_in_turn(std::int64_t stagers, std::int64_t clients, Bytes request_bytes, std::int64_t writers);

// The largest request that whole ones of make a window, not above `request_bytes`, and whole pages. `window_bytes` is whole pages.
[[nodiscard]] Bytes request_of_window(Bytes window_bytes, Bytes request_bytes);

// What chooses a share for a file of `file_bytes`, a step of it if it has records. Pure.
// `share`: its machine and nodes count.
[[nodiscard]] Choice choose_share(const FileShare& share, Bytes file_bytes, int variables, const Limits& limits);

// Whose a part of the file is. Not for several threads at once: it keeps what it has worked out.
class FileWriters {
 public:
  // `extents`: where the file's records are, what is before them, and whether windows go round in turn; the rest does not count.
  FileWriters(FileShare share, FileDomains extents);
  // The node of the job that writes the request which begins at index * share.request_bytes.
  [[nodiscard]] std::int64_t node_of(std::uint64_t request);

 private:
  [[nodiscard]] GroupPlan plan_of(GroupId group) const;

  FileShare share_;
  Choice choice_;
  GroupPlan first_;                                     // of the first group with nodes of the job
  FileDomains domains_;
  std::map<std::int64_t, std::int64_t> node_of_domain_; // those that were asked for, with the rest of their groups
};

}  // namespace glean::plan
