// SPDX-License-Identifier: BSD-3-Clause
//
// The write order of a raw output that ranks of several nodes write. Each node writes what its own ranks have captured, in the order of its
// numbers, and the nodes go through the ticks of a Lamport clock together (pool/lamport_clock.hpp): writes of a tick go into the file when
// those of all earlier ones, of all nodes, are in it. Writes of different nodes in one tick were made at the same time: which of them stays
// is not defined.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "drain/output.hpp"

namespace glean::drain {

class LamportClock {
 public:
  explicit LamportClock(DrainedOutput& output) : output_(output) {}

  // Whether the write may go into the file now, because those of all earlier ticks are in it. If not, other nodes hear what is waited for.
  [[nodiscard]] bool is_open(const pool::WriteStamp& write);
  void found_waiting(const pool::WriteStamp& write);
  [[nodiscard]] bool keeps_waiting(std::uint64_t number) const { return waiting_ && waiting_->number == number; }
  void took(const pool::WriteStamp& write);
  // What this node has said of its writes is not true any more: it sends them again, from the first on that took() tells of next.
  void begin_again(const pool::WriteStamp& first);
  // Writes with lower numbers than `written` are in the file, and those below `taken` were taken.
  void tell_written(std::uint64_t written, std::uint64_t taken);
  // Of a stager: a rank wants it on the storage up to a tick that is written.
  [[nodiscard]] bool wants_synchronized() const;

 private:
  DrainedOutput& output_;
  std::map<std::uint64_t, std::uint64_t> ticks_;   // of writes that were taken, by the number of the first of each
  std::optional<pool::WriteStamp> waiting_;        // for writes of other nodes: the next to be taken
};

}  // namespace glean::drain
