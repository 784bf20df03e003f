// SPDX-License-Identifier: BSD-3-Clause
//
// What is to be written, and within which limits: what a plan is made for, besides the machine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

using base::Bytes;
using topology::GroupId;
using topology::NodeId;

// How the ranks' data lie in a file.
enum class Pattern {
  contiguous,   // each rank's in one piece, in the order of the ranks
  flash,        // so in every variable
  s3d,          // every variable is a 3-D array, each rank has a box of it, the first dimension of the ranks is the slowest
};

enum class Sink {
  storage,   // aggregators write the files
  stagers,   // aggregators forward what they have, and what is behind the gateways sorts it (seed 000, section 4.1)
};

// Ranks first … first + count - 1.
struct RankRun {
  std::int64_t first = 0, count = 0;
  Bytes bytes_each = 0;
  friend bool operator==(const RankRun&, const RankRun&) = default;
};

struct Request {
  Bytes bytes_per_rank = 0;
  std::vector<RankRun> exceptions{};   // ranks that put something else, ascending and disjoint
  Pattern pattern = Pattern::contiguous;
  int variables = 1;
  std::int64_t files = 0;            // 0: as many as are best; otherwise 1 … one for each I/O group
  Sink sink = Sink::storage;
  friend bool operator==(const Request&, const Request&) = default;

  // Both O(exceptions).
  [[nodiscard]] Bytes bytes_of(std::int64_t rank) const;
  [[nodiscard]] Bytes bytes_before(std::int64_t rank) const;   // of all ranks below; bytes_before(ranks) is all
};

struct Limits {
  int aggregators_min = 1, aggregators_max = 64;   // of a group
  Bytes memory_bytes = 0;              // of an aggregator, for what it gathers; 0: a sixteenth of its node's memory
  Bytes request_bytes = 8 * base::MiB; // a write at most; rounded up to whole blocks and stripes of the file system
  Bytes piece_bytes = base::MiB;       // what moves between nodes, or to a stager, at a time
  friend bool operator==(const Limits&, const Limits&) = default;

  [[nodiscard]] Bytes aggregator_memory_bytes(const topology::Machine& machine) const;
  // The length of the windows that file domains are made of, when an aggregator has `share_bytes` of the file: as long as a request, less
  // where the share is less, but always whole blocks and stripes.
  [[nodiscard]] Bytes window_bytes(const topology::FileSystem& file_system, Bytes share_bytes) const;
};

[[nodiscard]] std::int64_t ranks_in(const topology::Placement& placement);

// The least that no two nodes should share: a block of the file system, and a stripe; a page where neither is known.
[[nodiscard]] Bytes unit_bytes(const topology::FileSystem& file_system);

// Throws invalid_argument with every problem: ranks on nodes that the machine does not have, exceptions that overlap, more
// files than groups with ranks, limits that exclude each other, …
void verify(const topology::Machine& machine, const topology::Placement& placement, const Request& request, const Limits& limits);

}  // namespace glean::plan
