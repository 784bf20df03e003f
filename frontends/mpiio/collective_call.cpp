// SPDX-License-Identifier: BSD-3-Clause
#include "collective_call.hpp"

#include <sched.h>

#include "captured_file.hpp"
#include "session.hpp"

namespace glean::mpiio {

namespace {

constexpr int turns_between_looks = 16;   // at messages: others of this core may be all that is missing

}  // namespace

// As MPI waits: messages of this rank that others need to come go on.
void wait_for_ranks(const Target& target) {
  const std::uint64_t all = static_cast<std::uint64_t>(target.ranks) * target.collectives.load(std::memory_order_relaxed);
  for (int turn = 1; target.output->collectives_ended() < all; ++turn) {
    int found = 0;
    if (turn % turns_between_looks == 0) PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

CollectiveCall::CollectiveCall(Target& target, MPI_Comm comm, Kind kind, bool counts)
    : target_(target), comm_(comm), kind_(kind), way_(counts && target.ranks != 0 ? Way::counted : Way::barrier) {
  if (target.is_put_to) way_ = Way::none;
  const bool waits_for_all = kind == Kind::read || way_ == Way::barrier;
  if (waits_for_all) static_cast<void>(Session::barrier(comm));
  else if (way_ == Way::counted) wait_for_ranks(target);
}

CollectiveCall::~CollectiveCall() {
  if (way_ == Way::counted) {
    target_.collectives.fetch_add(1, std::memory_order_relaxed);
    target_.output->end_collective();
  } else if (way_ == Way::barrier && kind_ == Kind::read) {
    static_cast<void>(Session::barrier(comm_));
  }
}

}  // namespace glean::mpiio
