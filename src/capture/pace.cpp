// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pace.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "pool/collective_count.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "store/description.hpp"

namespace glean::capture {

namespace {

constexpr int turns_between_messages = 16;   // at messages: others of this core may be all that is missing
constexpr std::uint64_t first_word_ns = 5'000'000'000;
constexpr base::Bytes most_of_record = 256;
constexpr double most_of_journal = 0.75;

std::string name_of(const pool::Pool& pool, std::uint32_t slot) {
  try {
    const pool::OutputKey key{slot, pool.slot(slot).generation.load(std::memory_order_acquire)};
    return store::OutputDescription::decode_names(pool::read_description(pool, key).bytes).display_path;
  } catch (const base::Error&) {
    return "a file";   // it has just been closed
  }
}

}  // namespace

Pace::Pace(pool::Pool& pool, const pool::Recorder& recorder, int rank, std::function<void()> poll)
    : pool_(pool), recorder_(recorder), rank_(rank), poll_(std::move(poll)), share_(pool.header().chunk_count / pool.header().ranks / 2) {}

std::uint32_t Pace::collective_count(std::uint32_t slot) const {
  return pool_.collective_count(slot, rank_).load(std::memory_order_acquire);
}

void Pace::saw_thread() {
  const auto mine = std::this_thread::get_id();
  auto first = first_thread_.load(std::memory_order_relaxed);
  if (first == mine) return;
  if (first != std::thread::id() || !first_thread_.compare_exchange_strong(first, mine)) has_several_threads_ = true;
}

void Pace::count_collective(std::uint32_t slot) {
  saw_thread();
  pool_.collective_count(slot, rank_).fetch_add(1, std::memory_order_acq_rel);
  pool::PoolHeader& header = pool_.header();
  if (header.waiting_for_space.load(std::memory_order_relaxed) != 0) pool::futex_signal(header.work);   // there may be now
}

void Pace::keep(std::uint32_t slot, base::Bytes bytes, std::uint64_t writes) {
  if (pool_.is_shared()) return;
  saw_thread();
  if (has_several_threads()) return static_cast<void>(wait_for_ranks(slot));
  const pool::PoolHeader& header = pool_.header();
  const std::uint64_t chunks = bytes / header.chunk_bytes + 2;   // with the rest of one before, and of the last
  const std::uint64_t records = writes + chunks;
  const std::uint64_t taken = recorder_.chunks_taken();
  const double more = static_cast<double>(records * most_of_record) / static_cast<double>(pool_.ring_bytes());
  if (taken - before_.load(std::memory_order_relaxed) + chunks <= share_ && recorder_.journal_share() + more <= most_of_journal) return;
  for (std::uint32_t each = 0; each < pool::output_slots; ++each) {
    if (!wait(each, [&] { return has_several_threads(); })) return static_cast<void>(wait_for_ranks(slot));
  }
  before_.store(taken, std::memory_order_relaxed);
}

std::uint32_t Pace::wait_for_ranks(std::uint32_t slot) const { return *wait(slot, [] { return false; }); }

std::optional<std::uint32_t> Pace::wait_for_ranks(std::uint32_t slot, const std::function<bool()>& gives_up) const {
  return wait(slot, gives_up);
}

// As MPI waits: messages of this rank that others need to come go on. Returns the count to which they have come, or nothing if it has
// given up.
template <class GivesUp>
std::optional<std::uint32_t> Pace::wait(std::uint32_t slot, const GivesUp& gives_up) const {
  const pool::OutputSlot& output = pool_.slot(slot);
  const std::uint32_t generation = output.generation.load(std::memory_order_acquire);   // before its count
  const std::uint32_t collective_count = this->collective_count(slot);
  const auto are_there = [&] {
    return output.state.load(std::memory_order_acquire) != pool::OutputState::open || output.generation != generation ||
           pool::least_collective_count(pool_, slot) >= collective_count;
  };
  std::uint64_t begin = 0, next_word_ns = first_word_ns;
  for (int turn = 1; !are_there(); ++turn) {
    if (gives_up()) return std::nullopt;
    sched_yield();
    if (turn % turns_between_messages != 0) continue;
    poll_();
    const std::uint64_t now = base::now_ns();
    if (begin == 0) begin = now;
    if (now - begin < next_word_ns) continue;
    next_word_ns *= 2;
    base::log(base::LogLevel::warning, "'{}': rank {} has waited {:.0f} s for {} to come to its last collective call",
              name_of(pool_, slot), pool_.job_rank(rank_), static_cast<double>(now - begin) / 1e9,
              base::readable_ranks(pool::ranks_before_collective_count(pool_, slot, collective_count)));
  }
  return collective_count;
}

}  // namespace glean::capture
