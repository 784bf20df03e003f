// SPDX-License-Identifier: BSD-3-Clause
//
// Which rank gathers for which, which file a group writes to, and which part of it: for a whole machine, or for one group of it.
//
// Pure: every rank computes the same answer from the same inputs, so that it is never sent around (seed 000, section 4.1, which
// has communicators made once; np, ng and nf of seed 001, section 3, are ranks, aggregators and files).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/choice.hpp"
#include "plan/domains.hpp"
#include "plan/request.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

// What alike groups have in common: places are given by position in the group.
struct GroupShape {
  struct Aggregator {
    NodeId position = 0;
    NodeId gateway = -1;     // position of the gateway that it leaves through; -1: the group's tree, or its own way out
    Bytes bytes = 0;         // that its subgroup has to write
    bool reassigned = false; // to that gateway, whose node writes on its behalf (seed 003, "modified write")
    friend bool operator==(const Aggregator&, const Aggregator&) = default;
  };
  struct Member {
    NodeId position = 0;
    int aggregator = -1;     // that gathers what the node has; -1: nothing is to be written
    Bytes bytes = 0;
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Aggregator> aggregators;   // by the lowest rank of their subgroups
  std::vector<Member> members;           // nodes with ranks, by position
  std::int64_t rounds = 1;               // Choice::rounds
  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

struct GroupPlan {
  GroupId group = 0;
  GroupShape shape;
  // To storage: the group writes to file `file`, 0 … files - 1, which `domains.aggregators` share. Its own are those from
  // `first_domain` on, `domain_count` of them; domain i belongs to aggregator (i - first_domain) % aggregators.size(). The
  // extents of `domains` are those of a file without a header in which every group has an equal part; a caller that knows the layout puts
  // in its own.
  std::int64_t file = -1;                // -1: to stagers
  FileDomains domains;
  std::int64_t first_domain = 0, domain_count = 0;
  friend bool operator==(const GroupPlan&, const GroupPlan&) = default;
};

// For each aggregator itself, or the gateway that it is reassigned to, if that has ranks; what the subgroup has is sent there at
// once. The lowest rank of the node is the one that drains.
struct Writer {
  NodeId node = 0;
  std::int64_t rank = 0;
  friend bool operator==(const Writer&, const Writer&) = default;
};
[[nodiscard]] std::vector<Writer> writers(const topology::Machine& machine, const topology::Placement& placement, const GroupPlan& plan);

// The part of one group with ranks. Time and memory O(nodes and ranks of the group · log), however many ranks there are; a
// placement that is a list is gone through. Throws invalid_argument as verify() does, and where the group has no ranks.
[[nodiscard]] GroupPlan plan_group(const topology::Machine& machine, const topology::Placement& placement, const Request& request,
                                   const Limits& limits, GroupId group);

// What all groups that write to storage are planned with.
[[nodiscard]] Choice choose_for_all(const topology::Machine& machine, const topology::Placement& placement, const Request& request,
                                    const Limits& limits);

// The part of one group with a choice that was made before.
[[nodiscard]] GroupPlan plan_group_with(const Choice& choice, const topology::Machine& machine, const topology::Placement& placement,
                                        const Request& request, GroupId group);

// Which group has domain `domain` of the file that `plan` is about; its own plan says which of its aggregators. O(log groups).
[[nodiscard]] GroupId group_of_domain(const topology::Machine& machine, const topology::Placement& placement, const GroupPlan& plan,
                                      std::int64_t domain);

// For tools and the simulator: all groups, those that are alike once.
struct Plan {
  struct Run {
    GroupId first = 0;
    std::int64_t count = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };
  struct Alike {
    GroupShape shape;
    std::vector<Run> groups;
    [[nodiscard]] std::int64_t count() const;
    friend bool operator==(const Alike&, const Alike&) = default;
  };
  Choice choice;                   // of storage: for all groups; to stagers: of the group that has most to write
  std::int64_t groups = 0;         // with ranks
  std::int64_t files = 0;          // 0: to stagers
  Bytes bytes = 0;
  std::vector<Alike> alike;        // by their first groups
  friend bool operator==(const Plan&, const Plan&) = default;

  [[nodiscard]] std::int64_t nodes() const;         // with ranks
  [[nodiscard]] std::int64_t aggregators() const;
  [[nodiscard]] const GroupShape* shape_of(GroupId group) const;   // nullptr: the group has no ranks
};

// O(nodes and ranks · log).
[[nodiscard]] Plan plan(const topology::Machine& machine, const topology::Placement& placement, const Request& request,
                        const Limits& limits);

}  // namespace glean::plan
