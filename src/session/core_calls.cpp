// SPDX-License-Identifier: BSD-3-Clause
//
// What the collective calls of a session have in common: how a rank waits in them, and until when.
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "base/units.hpp"
#include "session/agreement.hpp"
#include "session/core.hpp"

namespace glean::session {

// On all ranks: a collective call that waits so is another one for MPI than one that does not. Again when there are more communicators.
void Core::watch_calls() {
  meanwhile_ = [this](double seconds) {
    if (exchange_) exchange_->move_blocks();
    if (is_set_up_ && collective_) return collective_->look();
    const double limit = 2 * deadline_seconds_;   // a rank that is busy gives up first, and says why
    if (is_set_up_ || seconds <= limit) return;
    throw Broken{{base::Errc::timeout, fmt::format("waited {} in the constructor of the session for ranks that are in it, too",
                                                   base::exact_seconds(limit)),
                  "the storage of the configuration may hang; raise pool.deadline where ranks need longer to make their pools"}};
  };
  std::vector<MPI_Comm> comms = {comm_, job_comm_};
  for (const Nodes* nodes : {nodes_.get(), with_writers_.get()}) {
    if (nodes != nullptr) comms.insert(comms.end(), {nodes->comm(), nodes->aggregators()});
  }
  for (const MPI_Comm comm : comms) {
    if (comm != MPI_COMM_NULL) set_meanwhile(comm, &meanwhile_);
  }
}

void Core::call_without_pool() {
  collective_ = std::make_unique<CollectiveCalls>(make_call_places(*nodes_, rank_), nodes_->rank(), deadline_seconds_,
                                                  CollectiveCalls::AtDeadline::fail, [] { poll_messages(); });
  const bool mine = collective_->has_places();
  bool all = false;
  reduce_all(job_comm(), &mine, &all, 1, MPI_C_BOOL, MPI_LAND);
  if (!all) collective_->release();
}

void Core::come_together(double seconds) {
  if (!is_alone_on_node()) return agree(comm_, std::nullopt);
  const CollectiveCalls::Brought all = collective_->gather(0, 0, seconds);
  if (all.gave_up) throw base::Error(*all.gave_up);
}

FourWords Core::least_of_all(const FourWords& mine) {
  if (is_alone_on_node()) return collective_->least(mine);
  FourWords all;
  reduce_all(comm_, mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_MIN);
  return all;
}

std::optional<int> Core::first_of_ranks(bool one) {
  require_usable("a collective call");
  const InCall in_call(collective(), Call::arguments, "");
  const int none = std::numeric_limits<int>::max(), mine = one ? rank_ : none;
  int first = none;
  reduce_all(job_comm(), &mine, &first, 1, MPI_INT, MPI_MIN);
  return first == none ? std::nullopt : std::optional(first);
}

}  // namespace glean::session
