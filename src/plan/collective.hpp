// SPDX-License-Identifier: BSD-3-Clause
//
// How all ranks write a file together in blocking calls: coIO (seed 001, section 3), tuned as seed 002 tells.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "topology/node.hpp"

namespace glean::plan {

using base::Bytes;

// When data goes through aggregators on its way to the file.
enum class Gather {
  interleaved,   // where ranks have parts of the same region of the file; else each writes its own
  always,        // so that no block is written by two nodes
};

struct CollectivePlan {
  int aggregators = 1;             // ranks that write
  int aggregators_per_node = 1;    // at most
  Bytes buffer_bytes = 0;          // what one of them writes at a time; whole stripes
  Gather gather = Gather::interleaved;
  friend bool operator==(const CollectivePlan&, const CollectivePlan&) = default;

  // Variables are written together until they have so many bytes: one buffer of each aggregator.
  [[nodiscard]] Bytes batch_bytes() const { return static_cast<Bytes>(aggregators) * buffer_bytes; }
};

// Pure. One aggregator per node; where the files of the directory are striped (Lustre), as many for each target, and at least
// one for each target if there are as many ranks. On a file system that nodes share data is always gathered; which blocks
// belong to whom is then the business of MPI-IO, which knows stripes and blocks of Lustre and GPFS.
[[nodiscard]] CollectivePlan plan_collective(const topology::Storage& storage, int ranks, int nodes, Bytes request_bytes);

// In the words of MPI-IO: hints of ROMIO, of which Open MPI's ompio knows the first two.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> hints_of(const CollectivePlan& plan);

}  // namespace glean::plan
