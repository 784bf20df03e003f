// SPDX-License-Identifier: BSD-3-Clause
//
// Which I/O groups have ranks of the application, and what the nodes of one of them have to write.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/request.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

// The groups that have ranks, ascending. O(log groups) to make and ask, but for a placement that is a list: O(its length).
class GroupsInUse {
 public:
  GroupsInUse(const topology::Machine& machine, const topology::Placement& placement);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] GroupId at(std::int64_t index) const;
  [[nodiscard]] std::int64_t index_of(GroupId group) const;   // -1: it has no ranks
  [[nodiscard]] GroupId fullest() const { return fullest_; }  // most nodes with ranks; of several the first

 private:
  std::int64_t count_ = 0;
  GroupId fullest_ = 0;
  std::vector<GroupId> listed_;   // empty: 0 … count - 1
};

struct NodeLoad {
  NodeId node = 0;
  NodeId position = 0;            // index in its group
  std::int64_t first_rank = 0;    // the lowest that runs on it
  std::int64_t last_rank = 0;     // the highest
  std::int64_t ranks = 0;
  Bytes bytes = 0;
  NodeId gateway = -1;            // that it leaves through (assign_gateways()); -1: the group has none
  bool reassigned = false;        // closer than the one that the machine gives it
  friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

struct GroupLoad {
  GroupId group = 0;
  std::vector<NodeLoad> nodes;    // those with ranks, by position
  [[nodiscard]] Bytes bytes() const;
};

// O(nodes of the group and their ranks), with gateways times these and hops; a placement that is a list is gone through once.
[[nodiscard]] GroupLoad load_of(const topology::Machine& machine, const topology::Placement& placement, const Request& request,
                                GroupId group);

}  // namespace glean::plan
