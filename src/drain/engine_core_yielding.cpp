// SPDX-License-Identifier: BSD-3-Clause
//
// When the engine leaves the cores to ranks that just capture.
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "drain/engine.hpp"

namespace glean::drain {

int Engine::cores_of_machine() {
  static const int cores = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return cores;
}

// With the lock held. Only while nothing but raw outputs is there, which are captured in one go between open and close, and until all
// ranks have come out of closing them: a rank that waits for one says so in its slot, or has closed it.
bool Engine::leaves_cores_to_ranks() {
  const pool::PoolHeader& header = pool_.header();
  const auto ranks = static_cast<int>(header.ranks);
  if (ranks_ == Ranks::gone || pool_.is_shared() || stopping_ || header.deadline_boost.load(std::memory_order_relaxed) != 0) return false;
  if (outputs_.empty() || !plan_.drain_cores.empty() || ranks < cores_of_machine()) return false;
  bool is_closing = false;
  for (int rank = 0; rank < ranks; ++rank) is_closing |= pool_.journal(rank).closing.load(std::memory_order_relaxed) != 0;
  const bool all_can_wait = std::all_of(outputs_.begin(), outputs_.end(), [&](const auto& entry) {
    const Stream* const stream = entry.second->stream();
    return stream != nullptr && !entry.second->life().has_failed() && !stream->is_waited_for() && !stream->is_wanted() &&
           (is_closing || !stream->is_left_by_all());
  });
  if (!all_can_wait) return false;
  CaptureLook look{base::now_ns(), 0, static_cast<double>(pool_.used_bytes()) / static_cast<double>(header.pool_bytes),
                   header.waiting_for_space.load(std::memory_order_relaxed) != 0, is_closing};
  for (int rank = 0; rank < ranks; ++rank) {
    const pool::Journal& journal = pool_.journal(rank);
    const std::uint64_t head = journal.head.load(std::memory_order_relaxed);
    look.captured += head;
    look.fullest = std::max(look.fullest, static_cast<double>(head - journal.tail.load(std::memory_order_relaxed)) /
                                              static_cast<double>(pool_.ring_bytes()));
  }
  return core_yielding_.look(look);
}

}  // namespace glean::drain
