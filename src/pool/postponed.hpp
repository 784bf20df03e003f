// SPDX-License-Identifier: BSD-3-Clause
//
// Of several nodes: whether an output that the storage refuses is kept in their pools for another try. They decide it together: it
// is kept if all ranks of all nodes had closed it without having been told. Of stagers the first one decides: it is kept if that one had
// told the clients that it is closed and at the stagers. What stands in OutputSlot::nodes.job_postponed.
#pragma once

#include <cstdint>

#include "pool/shared.hpp"

namespace glean::pool {

enum class Postponed : std::uint32_t {
  no,
  yes,       // by all nodes: it stays in their pools
  refused,   // the storage of some node refuses it; this node has not looked yet whether its ranks have closed it
  agreed,    // they have, or there are none: this node keeps it if all do
  failed,    // some node does not, or it has failed for another reason: nothing of it is kept
};

[[nodiscard]] inline Postponed postponed(const OutputSlot& slot) noexcept {
  return static_cast<Postponed>(slot.nodes.job_postponed.load(std::memory_order_acquire));
}
inline void set_postponed(OutputSlot& slot, Postponed what) noexcept {
  slot.nodes.job_postponed.store(static_cast<std::uint32_t>(what), std::memory_order_release);
}
// The nodes have not decided yet.
[[nodiscard]] inline bool is_undecided(const OutputSlot& slot) noexcept {
  const Postponed what = postponed(slot);
  return what == Postponed::refused || what == Postponed::agreed;
}
// From one to the next, unless it has failed meanwhile, or has come further.
inline void move_on(OutputSlot& slot, Postponed from, Postponed to) noexcept {
  auto expected = static_cast<std::uint32_t>(from);
  slot.nodes.job_postponed.compare_exchange_strong(expected, static_cast<std::uint32_t>(to));
}

}  // namespace glean::pool
