// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pace.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "pool/collective_count.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/wait.hpp"
#include "store/description.hpp"

namespace glean::capture {

namespace {

constexpr int turns_between_messages = 16;   // at messages: others of this core may be all that is missing
constexpr std::uint64_t first_word_ns = 5'000'000'000, between_looks_ns = 100'000'000;
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

Pace::Pace(pool::Pool& pool, const pool::Recorder& recorder, int rank, double deadline_seconds, std::function<void()> poll)
    : pool_(pool), recorder_(recorder), rank_(rank), deadline_seconds_(deadline_seconds), poll_(std::move(poll)),
      share_(pool.header().chunk_count / pool.header().ranks / 2) {}

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
  const pool::PoolHeader& header = pool_.header();
  const std::uint64_t chunks = bytes / header.chunk_bytes + 2;   // with the rest of one before, and of the last
  const std::uint64_t records = writes + chunks;
  const std::uint64_t taken = recorder_.chunks_taken();
  const double more = static_cast<double>(records * most_of_record) / static_cast<double>(pool_.ring_bytes());
  const bool has_share = taken - before_.load(std::memory_order_relaxed) + chunks <= share_ &&
                         recorder_.journal_share() + more <= most_of_journal;
  if (has_share && !has_several_threads()) return;
  const double seconds = goes_ahead_.load(std::memory_order_relaxed) ? 0 : deadline_seconds_;
  Waited waited{End::gave_up, 0, {}};
  if (!has_several_threads()) {
    waited.end = End::came;
    for (std::uint32_t each = 0; each < pool::output_slots && waited.end == End::came; ++each) {
      waited = wait(each, seconds, [&] { return has_several_threads(); });
    }
  }
  if (waited.end == End::gave_up) waited = wait(slot, seconds, [] { return false; });
  const bool is_late = waited.end == End::late;
  if (!goes_ahead_.exchange(is_late) && is_late) {
    base::log(base::LogLevel::warning, "{}: this rank goes on without, as long as there is room in the pool", waited.late);
  }
  before_.store(taken, std::memory_order_relaxed);
}

std::uint32_t Pace::wait_for_ranks(std::uint32_t slot) const {
  const Waited waited = wait(slot, deadline_seconds_, [] { return false; });
  if (waited.end == End::came) return waited.collective_count;
  throw base::Error(base::Errc::timeout, waited.late, "raise pool.deadline where a rank computes for longer than that before its call");
}

std::optional<std::uint32_t> Pace::wait_for_ranks(std::uint32_t slot, const std::function<bool()>& gives_up) const {
  const Waited waited = wait(slot, deadline_seconds_, gives_up);
  return waited.end == End::came ? std::optional(waited.collective_count) : std::nullopt;
}

// As MPI waits: messages of this rank that others need to come go on.
template <class GivesUp>
Pace::Waited Pace::wait(std::uint32_t slot, double seconds, const GivesUp& gives_up) const {
  const pool::OutputSlot& output = pool_.slot(slot);
  const std::uint32_t generation = output.generation.load(std::memory_order_acquire);   // before its count
  const std::uint32_t collective_count = this->collective_count(slot);
  const auto are_there = [&] {
    return output.state.load(std::memory_order_acquire) != pool::OutputState::open || output.generation != generation ||
           pool::least_collective_count(pool_, slot) >= collective_count;
  };
  if (are_there()) return {End::came, collective_count, {}};
  const std::uint64_t begin = base::now_ns();
  pool::Wait deadline(pool_.header().progress, seconds, 0);
  deadline.restart_with([&] { return signs_of_life(slot, collective_count); });
  std::uint64_t next_word_ns = first_word_ns, next_look_ns = begin + between_looks_ns;
  const auto text = [&](const std::string& how_long) {
    const std::string missing = base::readable_ranks(pool::ranks_before_collective_count(pool_, slot, collective_count));
    return fmt::format("'{}': rank {} has waited {} for {} to come to its last collective call{}", name_of(pool_, slot),
                       pool_.job_rank(rank_), how_long, missing, where_they_are(slot, collective_count));
  };
  for (int turn = 1; !are_there(); ++turn) {
    if (gives_up()) return {End::gave_up, collective_count, {}};
    if (seconds > 0) sched_yield();
    if (seconds > 0 && turn % turns_between_messages != 0) continue;
    poll_();
    const std::uint64_t now = base::now_ns();
    if (deadline.is_over()) return {End::late, collective_count, text(base::exact_seconds(seconds))};
    if (now < next_look_ns) continue;
    next_look_ns = now + between_looks_ns;
    const bool is_any_gone = this->is_any_gone(slot, collective_count);
    if (!is_any_gone && now - begin < next_word_ns) continue;
    next_word_ns *= 2;
    const std::string so_far = text(fmt::format("{:.0f} s", base::seconds(now - begin)));
    if (is_any_gone) return {End::late, collective_count, so_far};
    base::log(base::LogLevel::warning, "{}", so_far);
  }
  return {End::came, collective_count, {}};
}

// A number that changes with what the ranks do for which this one waits, as far as the pool shows it.
std::uint64_t Pace::signs_of_life(std::uint32_t slot, std::uint32_t collective_count) const {
  const pool::PoolHeader& header = pool_.header();
  std::uint64_t all = header.written_bytes.load(std::memory_order_relaxed) + header.job_written_bytes.load(std::memory_order_relaxed);
  for (const int rank : pool::node_ranks_before_collective_count(pool_, slot, collective_count)) {
    all += pool_.journal(rank).head.load(std::memory_order_relaxed);
    for (std::uint32_t each = 0; each < pool::output_slots; ++each) {
      all += pool_.collective_count(each, rank).load(std::memory_order_relaxed);
    }
  }
  return all;
}

bool Pace::is_any_gone(std::uint32_t slot, std::uint32_t collective_count) const {
  const auto ranks = pool::node_ranks_before_collective_count(pool_, slot, collective_count);
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return pool_.process_of_rank(rank) == 0; });
}

// ": rank 2 has ended, rank 3 is in a collective call on 'b'", or nothing where no call of theirs is known.
std::string Pace::where_they_are(std::uint32_t slot, std::uint32_t collective_count) const {
  std::string text;
  for (const int rank : pool::node_ranks_before_collective_count(pool_, slot, collective_count)) {
    std::string where;
    if (pool_.process_of_rank(rank) == 0) where = "has ended";
    for (std::uint32_t each = 0; each < pool::output_slots && where.empty(); ++each) {
      const bool is_open = pool_.slot(each).state.load(std::memory_order_acquire) == pool::OutputState::open;
      const bool is_inside = pool_.collective_count(each, rank).load(std::memory_order_acquire) % 2 != 0;
      if (is_open && is_inside) where = "is in a collective call on '" + name_of(pool_, each) + "'";
    }
    if (!where.empty()) text += fmt::format("{} rank {} {}", text.empty() ? ":" : ",", pool_.job_rank(rank), where);
  }
  return text;
}

}  // namespace glean::capture
