// SPDX-License-Identifier: BSD-3-Clause
//
// Which ranks, and which nodes, are gone while outputs are open.
#include <fmt/format.h>

#include <algorithm>

#include "pool/journal.hpp"
#include "session/collective_calls.hpp"
#include "session/pool_outputs.hpp"

namespace glean::session {

bool PoolOutputs::root_is_gone() const { return rank_ != 0 && pool_.process_of_rank(0) == 0; }

bool PoolOutputs::has_lost_a_rank(const PoolOutput& output) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::uint32_t progress = pool_.rank_progress(output.key.slot, rank).load(std::memory_order_acquire);
    if (rank != rank_ && (progress & pool::rank_closed) == 0 && pool_.process_of_rank(rank) == 0) return true;
  }
  return root_is_gone() || drain_is_lost() || calls_.is_broken();
}

void PoolOutputs::hear_of_loss(const base::Error& error) {
  if (pool_.is_shared() && error.hint() == pool::lost_nodes_hint) pool_.header().lost_nodes.store(1, std::memory_order_release);
}

std::optional<base::Error> PoolOutputs::drain_is_lost() const {
  if (!pool_.is_shared()) return std::nullopt;
  const bool are_apart = pool_.header().lost_nodes.load(std::memory_order_acquire) != 0;
  if (!are_apart && pool_.drainer() != 0) return std::nullopt;
  const std::string gone = fmt::format("the rank that drains node {} is gone", pool_.header().node);
  const char* const apart = pool_.is_staged() ? "the stagers cannot be reached any more" : "other nodes cannot be reached any more";
  return base::Error(base::Errc::io, are_apart ? apart : gone, pool::lost_nodes_hint);
}

bool PoolOutputs::has_lost_a_rank() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const auto& output) {
    const bool is_open = pool_.slot(output->key.slot).state.load(std::memory_order_acquire) == pool::OutputState::open;
    return is_open && is_current(*output) && has_lost_a_rank(*output);
  });
}

}  // namespace glean::session
