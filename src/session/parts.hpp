// SPDX-License-Identifier: BSD-3-Clause
//
// Where an output becomes several files: each is written by some I/O groups of the session, which wait for no other. Those that
// write one are a part of the session.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "mesh/box.hpp"
#include "session/nodes.hpp"
#include "topology/machine.hpp"

namespace glean::session {

struct Parts {
  int count = 1;
  int self = 0;                // that this rank is in
  // -- where there are several
  std::string session;         // the same in all parts, and in no other session
  topology::Machine machine;   // node i of the session is its node i
  std::vector<topology::NodeId> nodes;   // of this part
};

// Which part each I/O group is in: of neighbours (docs/plan.md). Throws on all ranks or none: invalid_config where there are fewer
// groups than files. `settings`: on rank 0, which may have to read a machine file. Collective.
[[nodiscard]] Parts divide_into_parts(MPI_Comm comm, const Nodes& nodes, const base::Settings& settings);

using Blocks = std::vector<std::vector<mesh::Box>>;   // of each variable

// What all ranks have, on rank 0; those of ranks that have defined other variables are left out. Collective.
[[nodiscard]] Blocks gather_blocks(MPI_Comm comm, const Blocks& mine);

}  // namespace glean::session
