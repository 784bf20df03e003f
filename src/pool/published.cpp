// SPDX-License-Identifier: BSD-3-Clause
#include "pool/published.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <bit>

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
    if (state == OutputState::open) (is_closed(slot) ? outputs.closed : outputs.open) |= OutputSet{1} << slot;
  }
  if (!any_open) none_open_.store(opened, std::memory_order_relaxed);
  return outputs;
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
  for_each(outputs, [&](std::uint32_t slot) { generations[slot] = pool_.slot(slot).generation.load(std::memory_order_acquire); });
  const std::uint64_t began = base::now_ns();
  std::uint64_t moved = began, written = 0;
  for (int told = 0;;) {
    const std::uint32_t seen = pool_.header().progress.load(std::memory_order_acquire);
    bool all_there = true;
    for_each(outputs, [&](std::uint32_t index) {
      const OutputSlot& slot = pool_.slot(index);
      all_there = all_there && (slot.generation.load(std::memory_order_acquire) != generations[index] ||
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
      return slot.working_inode.load(std::memory_order_acquire) == 0 && slot.error.load(std::memory_order_acquire) == 0 &&
             slot.state.load(std::memory_order_acquire) == OutputState::open;
    };
    while (comes() && base::seconds(base::now_ns() - began) < seconds) usleep(opening_nap_us);
  });
}

}  // namespace glean::pool
