// SPDX-License-Identifier: BSD-3-Clause
#include "session/call_watch.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "base/units.hpp"

namespace glean::session {
namespace {

// In the place of a rank: the number of collective calls that it has begun, which it is in, and whether it is busy there.
constexpr std::uint32_t call_bits = 4, busy_bit = 1u << 3;
constexpr const char* names[] = {"", "Session::open", "end_definitions", "wait", "Session::close"};

std::uint32_t begun(std::uint32_t place) { return place >> call_bits; }
Call current(std::uint32_t place) { return static_cast<Call>(place & (busy_bit - 1)); }

}  // namespace

InCall::InCall(pool::Pool& pool, int rank, Call call) : place_(pool.rank_in_call(rank)) {
  const std::uint32_t next = begun(place_.load(std::memory_order_relaxed)) + 1;
  place_.store(next << call_bits | static_cast<std::uint32_t>(call), std::memory_order_release);
}

InCall::~InCall() {
  const std::uint32_t done = begun(place_.load(std::memory_order_relaxed));
  place_.store(done << call_bits, std::memory_order_release);
}

void InCall::set_busy(bool busy) {
  const std::uint32_t place = place_.load(std::memory_order_relaxed);
  place_.store(busy ? place | busy_bit : place & ~busy_bit, std::memory_order_release);
}

MissingInCall missing_in_call(const pool::Pool& pool) {
  const int ranks = static_cast<int>(pool.header().ranks);
  std::vector<std::uint32_t> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back(pool.rank_in_call(rank).load(std::memory_order_acquire));
  // The furthest of those that are in a call; the others come to it or are missing.
  std::uint32_t furthest = 0;
  for (const std::uint32_t place : places) {
    if (current(place) != Call::none) furthest = std::max(furthest, place);
  }
  const char* name = names[static_cast<std::size_t>(current(furthest))];
  std::vector<int> waiting, missing;
  bool any_busy = false;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::uint32_t place = places[static_cast<std::size_t>(rank)];
    if (furthest != 0 && begun(place) == begun(furthest) && current(place) != Call::none) waiting.push_back(pool.job_rank(rank));
    if (begun(place) < begun(furthest)) missing.push_back(pool.job_rank(rank));
    any_busy |= (place & busy_bit) != 0;
  }
  if (pool.is_shared() && !any_busy && static_cast<int>(waiting.size()) == ranks) {
    return {begun(furthest), fmt::format("all ranks of this node ({}) wait in {}; a rank of another node is missing",
                                         base::readable_ranks(waiting), name)};
  }
  if (waiting.empty() || missing.empty()) return {};
  return {begun(furthest), fmt::format("{} wait{} in {} for {}, which {} not called it", base::readable_ranks(waiting),
                                       waiting.size() == 1 ? "s" : "", name, base::readable_ranks(missing),
                                       missing.size() == 1 ? "has" : "have")};
}

CallWatch::CallWatch(const pool::Pool& pool, double deadline_seconds) : pool_(pool), deadline_seconds_(deadline_seconds) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { watch(); });
}

CallWatch::~CallWatch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_all();
  thread_.join();
}

void CallWatch::watch() {
  pthread_setname_np(pthread_self(), "glean-calls");
  const auto nap = std::chrono::duration<double>(std::clamp(deadline_seconds_ / 4, 0.01, 5.0));
  MissingInCall seen;
  std::uint64_t since = base::now_ns();
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, nap, [this] { return ended_; })) {
    const MissingInCall now = missing_in_call(pool_);
    const bool stands = !now.text.empty() && now == seen;
    seen = now;
    if (!stands) since = base::now_ns();
    if (stands && base::seconds(base::now_ns() - since) > deadline_seconds_) {
      base::log(base::LogLevel::error, "for {}: {}", base::exact_seconds(deadline_seconds_), now.text);
      since = base::now_ns();
    }
  }
}

}  // namespace glean::session
