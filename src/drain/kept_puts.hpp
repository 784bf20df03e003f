// SPDX-License-Identifier: BSD-3-Clause
//
// What a node has sent to stagers and keeps until it is on the storage (`staging.keep`): the loss of a stager with its pool loses nothing
// then. It stays in its journal, with its payload, as if it had not been sent.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "drain/output.hpp"

namespace glean::drain {

class KeptPuts {
 public:
  explicit KeptPuts(DrainedOutput& output) : output_(output) {}

  // It is at the stagers, all of it. An output with fill values is kept as a whole until it is published: which elements no rank has put
  // only all of its puts together say. Of a raw output the `step` is the tick of the write.
  struct Kept {
    TakenRecord taken;
    std::uint64_t number = 0;   // as PendingPiece has it
  };
  void keep(std::uint64_t step, const Kept& kept);
  // All of it: what is not sent again is to be kept again.
  [[nodiscard]] std::vector<Kept> take_all();
  [[nodiscard]] bool is_empty() const { return records_.empty(); }
  // Gives back what is durable by now. Where much of the pool is in use, stagers are asked for more of it.
  void look();
  // It is published, or has failed.
  void release_all() { release(no_step); }

  // Ranks wait for room. True: some comes without them, since stagers make durable what all ranks have ended, or closed, or written.
  [[nodiscard]] bool will_make_room();
  // Else it is given back: a step that is not ended, and does not fit into the pool with what else is there.
  void give_up();

 private:
  void release(std::uint64_t last_step);
  [[nodiscard]] std::uint64_t durable_steps() const;   // all lower ones are
  void ask_for_durable_steps();
  void ask_for_durable_ticks();

  DrainedOutput& output_;
  std::map<std::uint64_t, std::vector<Kept>> records_;   // by the step with which they go
  bool has_warned_ = false;
};

}  // namespace glean::drain
