// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting until a file is there: for programs that look at what they have written by other means than GLEAN, and for processes
// that they have started.
//
// Nothing here takes a lock or allocates memory: a program may look for a file in a signal handler.
#pragma once

#include <cstdint>
#include <string_view>

#include "pool/pool.hpp"

namespace glean::pool {

// Outputs, a bit for each slot.
using OutputSet = std::uint64_t;
static_assert(output_slots == 64);

// What stands in a slot for an absolute path without symbolic links; never 0. Local.
[[nodiscard]] std::uint64_t path_mark(std::string_view path) noexcept;
// The output of the slot becomes this file. Of whoever has opened it.
void mark_path(OutputSlot& slot, std::string_view final_path) noexcept;

// Keeps an output under its working name: whoever would publish it waits, as long as rank `rank` of the node lives. False: another rank or
// thread keeps it, it is just being published, or the slot is another output's by now. Local.
[[nodiscard]] bool keep_name(const Pool& pool, OutputKey key, int rank) noexcept;
// By who keeps it; nothing if the output has failed meanwhile and the slot is another's. Local.
void release_name(const Pool& pool, OutputKey key) noexcept;

// Who looks: a rank of the node, or a process that it has started, or another process.
inline constexpr int no_rank = -1;
// In the environment of processes that a rank starts: "NAME RANK SECONDS MARKERS" of its pool; the last one is the setting, and may be
// missing. Empty: that of the helper which drains, whose own looks at files must not wait for it.
inline constexpr char looking_variable[] = "GLEAN_RUN_POOL";

class Draining {
 public:
  Draining(const Pool& pool, int rank) noexcept : pool_(pool), rank_(rank) {}
  // `closed`: they are not under their names yet and soon will be, whatever the program does: all ranks have closed them, or `rank` has,
  // and then the others do, since closing is collective. `open`: not so. Local; two loads as long as no output was opened since none was
  // open.
  struct Outputs {
    OutputSet closed = 0, open = 0;
  };
  [[nodiscard]] Outputs outputs() noexcept;
  // Those of `outputs` that become the file with that mark, or a file in the directory with it.
  enum class Names { files, directories_too };
  [[nodiscard]] OutputSet of(OutputSet outputs, std::uint64_t mark, Names names) const noexcept;
  // Waits until all of them are there, have failed or are given up. False: for `seconds` nothing was written. `waiting` is called
  // about once a second with the number of seconds so far. Blocks. Of several nodes that have lost each other it is false at once.
  bool wait_for(OutputSet outputs, double seconds, void (*waiting)(void* context, int seconds), void* context) const noexcept;

  // Waits, for a few milliseconds as a rule, until whoever drains has opened the files of `outputs`: then they can do without a name.
  // For at most `seconds`. Blocks. Changes nothing: the pool may be mapped to look only.
  void wait_until_opened(OutputSet outputs, double seconds) const noexcept;

  [[nodiscard]] bool needs_lost_nodes() const noexcept { return pool_.header().lost_nodes.load(std::memory_order_acquire) != 0; }

 private:
  [[nodiscard]] bool is_closed(std::uint32_t slot) const noexcept;
  const Pool& pool_;
  int rank_;
  Atomic<std::uint64_t> none_open_{0};   // 1 + how many had been opened when none was open
};

}  // namespace glean::pool
