// SPDX-License-Identifier: BSD-3-Clause
#include "pool/published.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "base/clock.hpp"
#include "pool/futex.hpp"
#include "pool/ranks_of_output.hpp"

namespace glean::pool {
namespace {

constexpr std::uint64_t publisher_nap_ns = 50'000'000;
constexpr unsigned opening_nap_us = 100;
constexpr std::uint64_t second_ns = 1'000'000'000;

// Calls what(slot) for each of them.
template <class What>
void for_each(OutputSet outputs, What what) {
  for (; outputs != 0; outputs &= outputs - 1) what(static_cast<std::uint32_t>(std::countr_zero(outputs)));
}

}  // namespace

std::uint64_t path_mark(std::string_view path) noexcept {
  const std::uint64_t mark = XXH3_64bits(path.data(), path.size());
  return mark == 0 ? 1 : mark;
}

void mark_path(OutputSlot& slot, std::string_view final_path) noexcept {
  const std::size_t slash = final_path.rfind('/');
  slot.directory_mark.store(slash == final_path.npos ? 0 : path_mark(final_path.substr(0, slash == 0 ? 1 : slash)),
                            std::memory_order_relaxed);
  slot.path_mark.store(path_mark(final_path), std::memory_order_release);
}

bool keep_name(const Pool& pool, OutputKey key, int rank) noexcept {
  OutputSlot& slot = pool.slot(key.slot);
  const std::uint32_t mine = static_cast<std::uint32_t>(rank) + 1;
  std::uint32_t holder = 0;
  if (!slot.name_lock.compare_exchange_strong(holder, mine)) return false;
  const bool is_it = slot.state.load(std::memory_order_acquire) == OutputState::open &&
                     slot.generation.load(std::memory_order_acquire) == key.generation;
  if (is_it) return true;
  // It was published before, and this is the name of the slot's next output.
  holder = mine;
  if (slot.name_lock.compare_exchange_strong(holder, 0)) futex_signal(pool.header().work);
  return false;
}

void release_name(const Pool& pool, OutputKey key) noexcept {
  OutputSlot& slot = pool.slot(key.slot);
  if (slot.generation.load(std::memory_order_acquire) != key.generation) return;
  slot.name_lock.store(0, std::memory_order_release);
  futex_signal(pool.header().work);
}

bool is_kept(const OutputSlot& slot) noexcept {
  return slot.discarded.load(std::memory_order_acquire) == kept_for_recovery &&
         slot.state.load(std::memory_order_acquire) == OutputState::open;
}

bool any_is_kept(const Pool& pool) noexcept {
  for (std::uint32_t slot = 0; slot < output_slots; ++slot) {
    if (is_kept(pool.slot(slot))) return true;
  }
  return false;
}

bool is_tried_again(const OutputSlot& slot) noexcept {
  return slot.discarded.load(std::memory_order_acquire) == tried_again && slot.state.load(std::memory_order_acquire) == OutputState::open;
}

void try_again(const Pool& pool) noexcept {
  for (std::uint32_t index = 0; index < output_slots; ++index) {
    std::uint32_t kept = kept_for_recovery;
    if (is_kept(pool.slot(index))) pool.slot(index).discarded.compare_exchange_strong(kept, tried_again);
  }
  futex_signal(pool.header().work);
}

std::uint32_t untold_failure(const Pool& pool) noexcept {
  for (std::uint32_t index = 0; index < output_slots; ++index) {
    const OutputSlot& slot = pool.slot(index);
    const bool is_told = slot.told.load(std::memory_order_acquire) != 0;
    if (is_kept(slot) && !is_told && slot.is_renamed.load(std::memory_order_acquire) != is_removed_output) return index;
  }
  return output_slots;
}

Before what_is_before(const Pool& pool, std::uint32_t index) noexcept {
  Before all = Before::durable;
  OutputSlot& slot = pool.slot(index);
  for (std::uint32_t other = 0; other < output_slots; ++other) {
    const std::uint32_t generation = slot.follows[other].load(std::memory_order_acquire);
    if (generation == 0) continue;
    const OutputSlot& before = pool.slot(other);
    if (before.state.load(std::memory_order_acquire) != OutputState::open ||
        before.generation.load(std::memory_order_acquire) != generation) {
      slot.follows[other].store(0, std::memory_order_release);
    } else if (is_kept(before)) {
      return Before::kept;
    } else {
      all = Before::draining;
    }
  }
  return all;
}

namespace {

// Where a file is in the filter: two bits.
std::array<std::uint64_t, 2> bits_of(std::uint64_t device, std::uint64_t inode) noexcept {
  const std::array<std::uint64_t, 2> words{device, inode};
  const std::uint64_t hash = XXH3_64bits(words.data(), sizeof words);
  constexpr std::uint64_t bits = 64 * std::tuple_size_v<decltype(PoolHeader::written_files)>;
  return {hash % bits, (hash >> 32) % bits};
}

}  // namespace

void note_written_file(const Pool& pool, std::uint64_t device, std::uint64_t inode) noexcept {
  for (const std::uint64_t bit : bits_of(device, inode)) pool.header().written_files[bit / 64].fetch_or(std::uint64_t{1} << bit % 64);
}

bool may_be_written_here(const Pool& pool, std::uint64_t device, std::uint64_t inode) noexcept {
  const auto bits = bits_of(device, inode);
  return std::all_of(bits.begin(), bits.end(), [&](std::uint64_t bit) {
    return (pool.header().written_files[bit / 64].load(std::memory_order_acquire) >> bit % 64 & 1) != 0;
  });
}

bool Draining::is_closed(std::uint32_t slot) const noexcept {
  const std::uint32_t own = rank_ == no_rank ? 0 : pool_.rank_progress(slot, rank_).load(std::memory_order_acquire);
  return (own & (rank_closed | rank_absent)) == rank_closed || ranks_of_output(pool_, slot).all_closed;
}

Draining::Outputs Draining::outputs() noexcept {
  const std::uint64_t opened = 1 + std::uint64_t{pool_.header().outputs_opened.load(std::memory_order_acquire)};
  if (none_open_.load(std::memory_order_relaxed) == opened) return {};
  Outputs outputs;
  bool any_open = false;
  for (std::uint32_t slot = 0; slot < output_slots; ++slot) {
    const OutputState state = pool_.slot(slot).state.load(std::memory_order_acquire);
    if (state == OutputState::open || state == OutputState::opening) any_open = true;
    if (is_kept(pool_.slot(slot))) continue;   // nothing goes on with it here
    if (state == OutputState::open) (is_closed(slot) ? outputs.closed : outputs.open) |= OutputSet{1} << slot;
  }
  if (!any_open) none_open_.store(opened, std::memory_order_relaxed);
  return outputs;
}

Draining::ClosedBefore Draining::closed_before(std::uint64_t device, std::uint32_t except) const noexcept {
  ClosedBefore before;
  for (std::uint32_t index = 0; index < output_slots; ++index) {
    const OutputSlot& slot = pool_.slot(index);
    if (index == except || slot.state.load(std::memory_order_acquire) != OutputState::open || !is_closed(index)) continue;
    if (slot.is_renamed.load(std::memory_order_acquire) == is_removed_output || ranks_of_output(pool_, index).any_abandoned) continue;
    const std::uint64_t its_device = slot.working_device.load(std::memory_order_acquire);
    if (its_device != 0 && its_device != device) continue;   // 0: the drain has not opened it yet
    const bool has_failed = slot.error.load(std::memory_order_acquire) != 0;
    if (has_failed && slot.told.load(std::memory_order_acquire) != 0) continue;
    before.has_failed = before.has_failed || has_failed;
    before.fence[index] = slot.generation.load(std::memory_order_acquire);
  }
  return before;
}

OutputSet Draining::of(OutputSet outputs, std::uint64_t mark, Names names) const noexcept {
  OutputSet found = 0;
  for_each(outputs, [&](std::uint32_t index) {
    const OutputSlot& slot = pool_.slot(index);
    const bool is_directory = slot.directory_mark.load(std::memory_order_relaxed) == mark;
    if (slot.path_mark.load(std::memory_order_acquire) == mark || (names == Names::directories_too && is_directory)) {
      found |= OutputSet{1} << index;
    }
  });
  return found;
}

bool Draining::wait_for(OutputSet outputs, double seconds, void (*waiting)(void*, int), void* context) const noexcept {
  std::array<std::uint32_t, output_slots> generations{};
  OutputSet closed = 0;   // an open one has taken the slot of one that was closed, and its ranks may wait for this one
  for_each(outputs, [&](std::uint32_t slot) {
    generations[slot] = pool_.slot(slot).generation.load(std::memory_order_acquire);
    if (is_closed(slot)) closed |= OutputSet{1} << slot;
  });
  const std::uint64_t began = base::now_ns();
  std::uint64_t moved = began, written = 0;
  for (int told = 0;;) {
    const std::uint32_t seen = pool_.header().progress.load(std::memory_order_acquire);
    bool all_there = true;
    for_each(closed, [&](std::uint32_t index) {
      const OutputSlot& slot = pool_.slot(index);
      all_there = all_there && (is_kept(slot) || slot.generation.load(std::memory_order_acquire) != generations[index] ||
                                slot.state.load(std::memory_order_acquire) != OutputState::open);
    });
    if (all_there) return true;
    const std::uint64_t now = base::now_ns();
    if (needs_lost_nodes()) return false;
    if (const std::uint64_t so_far = pool_.header().written_bytes.load() + pool_.header().job_written_bytes.load(); so_far != written) {
      written = so_far;
      moved = now;
    }
    if (base::seconds(now - moved) > seconds) return false;
    if (const int since = static_cast<int>((now - began) / second_ns); since > told) waiting(context, told = since);
    futex_wait(pool_.header().progress, seen, publisher_nap_ns);
  }
}

void Draining::wait_until_opened(OutputSet outputs, double seconds) const noexcept {
  const std::uint64_t began = base::now_ns();
  for_each(outputs, [&](std::uint32_t index) {
    const OutputSlot& slot = pool_.slot(index);
    const auto comes = [&] {
      if (slot.is_made_by_stagers.load(std::memory_order_acquire) != 0) return false;   // the drain of this node opens none
      return slot.working_inode.load(std::memory_order_acquire) == 0 && slot.error.load(std::memory_order_acquire) == 0 &&
             slot.state.load(std::memory_order_acquire) == OutputState::open;
    };
    while (comes() && base::seconds(base::now_ns() - began) < seconds) usleep(opening_nap_us);
  });
}

}  // namespace glean::pool
