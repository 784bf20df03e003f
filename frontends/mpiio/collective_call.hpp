// SPDX-License-Identifier: BSD-3-Clause
//
// Collective calls on a file are in their order for all ranks: what any rank has written in one of them is overwritten by what another one
// writes afterwards, does not overwrite that, and no rank still reads then. MPI promises that only to ranks that synchronize; but its
// libraries wait for all ranks in these calls, and programs rely on it, PnetCDF's tests among them. Here writes are put in order by the
// calls in which they are made, and only a rank that reads waits (pool/collective_count.hpp).
#pragma once

#include <mpi.h>

namespace glean::mpiio {

struct Target;

class CollectiveCall {
 public:
  enum class Kind { read, write };   // write: or a new view
  // `counts`: its ranks are those that have opened the target together. A read waits for all ranks to come; where calls cannot be
  // counted, a write does, too. Collective over `comm`.
  CollectiveCall(Target& target, MPI_Comm comm, Kind kind, bool counts);
  ~CollectiveCall();
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

 private:
  Target& target_;
  MPI_Comm comm_;
  Kind kind_;
  enum class Way { none, counted, barrier } way_;
};

}  // namespace glean::mpiio
