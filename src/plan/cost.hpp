// SPDX-License-Identifier: BSD-3-Clause
//
// How long it takes one I/O group to get its data off its nodes, with so many aggregators and files: docs/plan.md has the
// formula and where each term comes from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/group_load.hpp"
#include "plan/request.hpp"
#include "plan/subgroups.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

// Seconds, of the group; each is 0 where the machine has no such figure.
struct Cost {
  double gather_messages = 0;   // software, of the messages that come to the busiest aggregator
  double gather_links = 0;      // busiest link on the routes to the aggregators
  double gather_copy = 0;       // busiest aggregator: into its memory
  double exchange = 0;          // between groups that share a file
  double forward_messages = 0;  // control of the messages through the I/O node
  double forward_bytes = 0;     // the same bytes through gateway, tree and I/O node
  double store_bytes = 0;       // the file system, with what all groups write
  double store_requests = 0;    // its servers, of every request
  double create = 0;            // of the files
  double total = 0;             // stages overlap piece by piece

  // What the application waits for when all is in the background but MPI.
  [[nodiscard]] double gather() const { return gather_messages + std::max(gather_links, gather_copy) + exchange; }
  [[nodiscard]] double forward() const { return forward_messages + forward_bytes; }
  [[nodiscard]] double store() const { return store_bytes + store_requests; }
  friend bool operator==(const Cost&, const Cost&) = default;
};

// What a group's choice is made from. Between groups that share files every aggregator writes the same share, whichever rank puts it.
struct Situation {
  const topology::Machine& machine;
  const topology::Placement& placement;
  const Request& request;
  const Limits& limits;
  GroupLoad load;                     // of the group
  std::int64_t groups = 1;            // that have ranks
  std::int64_t group_index = 0;       // of this one among them
  Bytes bytes_of_all = 0;

  // The share of all bytes for each of so many aggregators in every group.
  [[nodiscard]] Bytes share_bytes(std::size_t aggregators) const;
  [[nodiscard]] Bytes window_bytes(std::size_t aggregators) const {
    return limits.window_bytes(machine.file_system, share_bytes(aggregators));
  }
};

// With `aggregators` in each group, at most as many as it has nodes.
[[nodiscard]] Bytes bytes_of_busiest_aggregator(const Situation& situation, const Subgroups& subgroups);
// For each of `files`, numbers of files; 0 to stagers. Routes are counted once.
[[nodiscard]] std::vector<Cost> costs_of(const Situation& situation, const Subgroups& subgroups, const std::vector<std::int64_t>& files);

}  // namespace glean::plan
