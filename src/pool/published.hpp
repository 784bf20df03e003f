// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting until a file is there: for programs that look at what they have written by other means than GLEAN, and for processes
// that they have started.
//
// Nothing here takes a lock or allocates memory: a program may look for a file in a signal handler.
#pragma once

#include <cstdint>
#include <string_view>

#include "pool/name_log.hpp"
#include "pool/pool.hpp"

namespace glean::pool {

// Outputs, a bit for each slot.
using OutputSet = std::uint64_t;
static_assert(output_slots == 64);

// What stands in a slot for an absolute path without symbolic links; never 0. Local.
[[nodiscard]] std::uint64_t path_mark(std::string_view path) noexcept;
// The output of the slot becomes this file. By the rank that has opened it.
void mark_path(OutputSlot& slot, std::string_view final_path) noexcept;

// Keeps an output under its working name: the drain that would publish it waits, as long as rank `rank` of the node lives. False: another
// rank or thread keeps it, it is just being published, or the slot is another output's by now. Local.
[[nodiscard]] bool keep_name(const Pool& pool, OutputKey key, int rank) noexcept;
// By the rank that keeps it; nothing if the output has failed meanwhile and the slot is another's. Local.
void release_name(const Pool& pool, OutputKey key) noexcept;

// What stands in OutputSlot::discarded of an output that all ranks have closed, that the storage has refused since, and that is kept in
// the pool for another try.
inline constexpr std::uint32_t kept_for_recovery = 2;
[[nodiscard]] bool is_kept(const OutputSlot& slot) noexcept;
[[nodiscard]] bool any_is_kept(const Pool& pool) noexcept;
// The drain tries such an output once more while the ranks go on: it is on its way again. Until it is published or refused anew.
inline constexpr std::uint32_t tried_again = 3;
[[nodiscard]] bool is_tried_again(const OutputSlot& slot) noexcept;
// Asks the drain to try all that are kept. On one node. Local.
void try_again(const Pool& pool) noexcept;
// One of these that the program has not removed, and of which no rank has been told; none: output_slots. Local, a few loads.
[[nodiscard]] std::uint32_t untold_failure(const Pool& pool) noexcept;

// Whether outputs that an output in place follows (OutputSlot::follows) are not durable yet. kept: one of them will not be. Local, a few
// loads.
enum class Before { durable, draining, kept };
[[nodiscard]] Before what_is_before(const Pool& pool, std::uint32_t slot) noexcept;

// The program has removed an output that was closed and not published.
inline constexpr std::uint32_t is_removed_output = 2;   // OutputSlot::is_renamed

// The session has written the file with this device and inode, or perhaps it has: a Bloom filter. Local.
void note_written_file(const Pool& pool, std::uint64_t device, std::uint64_t inode) noexcept;
[[nodiscard]] bool may_be_written_here(const Pool& pool, std::uint64_t device, std::uint64_t inode) noexcept;

// What looks: a rank of the node, or a process that it has started, or another process.
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
  // The outputs on that device which are closed and not durable yet. `has_failed`: one of them has failed, and the program has not been
  // told. Local. What is removed or replaced now waits for them; see NameLog, which must be locked where that matters.
  struct ClosedBefore {
    Fence fence{};
    bool has_failed = false;
    [[nodiscard]] bool is_empty() const noexcept { return !has_failed && pool::is_empty(fence); }
  };
  // But for the output of slot `except`, and those that a rank has given up.
  [[nodiscard]] ClosedBefore closed_before(std::uint64_t device, std::uint32_t except = output_slots) const noexcept;
  // Those of `outputs` that become the file with that mark, or a file in the directory with it.
  enum class Names { files, directories_too };
  [[nodiscard]] OutputSet of(OutputSet outputs, std::uint64_t mark, Names names) const noexcept;
  // Waits until all of them that are closed are there, have failed or are given up. False: for `seconds` nothing was written.
  // `waiting` is called about once a second with the number of seconds so far. Blocks. Of several nodes that have lost each other it
  // is false at once.
  bool wait_for(OutputSet outputs, double seconds, void (*waiting)(void* context, int seconds), void* context) const noexcept;

  // Waits, for a few milliseconds as a rule, until the drain has opened the files of `outputs`: then they can do without a name.
  // For at most `seconds`. Blocks. Changes nothing: the pool may be mapped to look only.
  void wait_until_opened(OutputSet outputs, double seconds) const noexcept;

  [[nodiscard]] const Pool& pool() const noexcept { return pool_; }
  [[nodiscard]] bool needs_lost_nodes() const noexcept { return pool_.header().lost_nodes.load(std::memory_order_acquire) != 0; }

 private:
  [[nodiscard]] bool is_closed(std::uint32_t slot) const noexcept;
  const Pool& pool_;
  int rank_;
  Atomic<std::uint64_t> none_open_{0};   // 1 + how many had been opened when none was open
};

}  // namespace glean::pool
