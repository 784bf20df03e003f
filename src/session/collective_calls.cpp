// SPDX-License-Identifier: BSD-3-Clause
#include "session/collective_calls.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/units.hpp"

namespace glean::session {
namespace {

// The place of a rank, and the word of a call.
constexpr int number_shift = 16, decided_shift = 8;
constexpr std::uint64_t kind_mask = 0xff, busy_flag = 1u << 8, left_flag = 1u << 9;
enum Decided : std::uint64_t { nothing, being_claimed, all_have_come, giving_up, given_up };

constexpr std::uint64_t between_looks_ns = 1'000'000;
constexpr std::uint64_t gathering_yields_ns = 2'000'000;     // a rank that waits for longer sleeps
constexpr unsigned gathering_nap_us = 100;
constexpr double grace_seconds = 0.2;              // ranks whose time is over together may come a little apart
constexpr const char* call_names[] = {"",   "the check of arguments", "open",     "end_definitions", "wait", "Session::close",
                                      "Session::close", "end_step",   "close",    "the giving up", "restart",
                                      "read_all"};
constexpr const char* how_to_call = "every rank makes every collective call of a session, in the same order: docs/errors.md, \"When one "
                                    "rank throws\"";
constexpr const char* how_to_wait = "every rank makes every collective call of a session; raise pool.deadline where a rank needs longer";

std::uint64_t number_of(std::uint64_t word) { return word >> number_shift; }
Call kind_of(std::uint64_t word) { return static_cast<Call>(word & kind_mask); }
Decided decided(std::uint64_t word) { return static_cast<Decided>(word >> decided_shift & 0xff); }
std::uint64_t word_of(std::uint64_t number, Call call, Decided what) {
  return number << number_shift | std::uint64_t{what} << decided_shift | static_cast<std::uint64_t>(call);
}

template <std::size_t size>
void copy_text(std::array<char, size>& target, std::string_view text) {
  const std::size_t bytes = std::min(text.size(), size - 1);
  std::memcpy(target.data(), text.data(), bytes);
  target[bytes] = '\0';
}

// The end of a long name says more than its beginning.
template <std::size_t size>
void copy_end(std::array<char, size>& target, std::string_view text) {
  copy_text(target, text.size() < size ? text : text.substr(text.size() - size + 1));
}

std::string named(Call call, const std::string& output) {
  const std::string name = call_names[static_cast<std::size_t>(call)];
  if (!output.empty()) return name + " of '" + output + "'";
  return call == Call::wait ? "Session::wait" : name;
}

}  // namespace

// Where a rank of the node is.
struct CollectiveCalls::Seen {
  int rank = 0;   // of the session
  std::uint64_t place = 0, since_ns = 0;
  std::string output;

  [[nodiscard]] bool has_left() const { return (place & left_flag) != 0; }
  [[nodiscard]] bool is_busy() const { return (place & busy_flag) != 0; }
  [[nodiscard]] bool is_in_call() const { return kind_of(place) != Call::none; }
};

CollectiveCalls::CollectiveCalls(std::unique_ptr<CallPlaces> places, int rank, double deadline_seconds, AtDeadline at_deadline,
                                 std::function<void()> poll)
    : places_(std::move(places)), rank_(rank), deadline_seconds_(deadline_seconds), at_deadline_(at_deadline), poll_(std::move(poll)) {
  if (places_) place().since_ns.store(base::now_ns(), std::memory_order_relaxed);
}

// --- this rank

void CollectiveCalls::enter(Call call, std::string_view output) {
  require_whole();   // of this one
  begin_ns_ = since_ns_ = arrived_ns_ = base::now_ns();
  next_look_ns_ = 0;
  call_ = call;
  output_ = output;
  ++number_;
  if (!places_) return;
  note_progress();
  copy_end(place().output, output);
  place().since_ns.store(since_ns_, std::memory_order_relaxed);
  place().place.store(word_of(number_, call, nothing), std::memory_order_release);
  const Call others = kind_of(claim_call().word.load(std::memory_order_acquire));
  if (others == call || at_deadline_ == AtDeadline::log) return;
  break_session(base::Errc::invalid_state, number_,
                fmt::format("rank {} has called {} where other ranks have called {}: {}", places_->job_rank(rank_), named(call_, output_),
                            call_names[static_cast<std::size_t>(others)], describe(see())));
}

void CollectiveCalls::leave_call() noexcept {
  if (call_ == Call::none) return;
  call_ = Call::none;
  if (!places_) return;
  place().since_ns.store(base::now_ns(), std::memory_order_relaxed);
  place().place.store(word_of(number_, Call::none, nothing), std::memory_order_release);
}

void CollectiveCalls::set_busy(bool is_busy) noexcept {
  if (!places_) return;
  if (!is_busy) arrived_ns_ = base::now_ns();
  place().place.store(word_of(number_, call_, nothing) | (is_busy ? busy_flag : 0), std::memory_order_release);
}

void CollectiveCalls::leave_session() noexcept {
  call_ = Call::none;
  if (!places_) return;
  place().since_ns.store(base::now_ns(), std::memory_order_relaxed);
  place().place.store(word_of(number_, Call::none, nothing) | left_flag, std::memory_order_release);
}

// The first rank that comes makes it the place of this call. A rank that is far ahead waits for those that may still look at the call
// that was there before.
pool::NodeCall& CollectiveCalls::claim_call() {
  const std::uint64_t size = places_->of_session().calls.size();
  pool::NodeCall& call = call_of_node();
  for (;;) {
    std::uint64_t word = call.word.load(std::memory_order_acquire);
    if (number_of(word) >= number_ && decided(word) != being_claimed) return call;
    bool is_needed = decided(word) == being_claimed;
    for (int rank = 0; rank < places_->ranks(); ++rank) {
      is_needed |= number_of(places_->of_rank(rank).place.load(std::memory_order_acquire)) + size <= number_;
    }
    if (is_needed) {
      look();
      sched_yield();
    } else if (call.word.compare_exchange_strong(word, word_of(number_, call_, being_claimed))) {
      call.slots = 0;
      call.flags = call.ranks = 0;
      for (auto& least : call.least) least = ~std::uint64_t{0};
      call.word.store(word_of(number_, call_, nothing), std::memory_order_release);
      return call;
    }
  }
}

// --- the others

std::vector<CollectiveCalls::Seen> CollectiveCalls::see() const {
  std::vector<Seen> all;
  for (int rank = 0; rank < places_->ranks(); ++rank) {
    const pool::RankCall& call = places_->of_rank(rank);
    Seen seen{places_->job_rank(rank), call.place.load(std::memory_order_acquire), call.since_ns.load(std::memory_order_relaxed), {}};
    seen.output.assign(call.output.data(), strnlen(call.output.data(), call.output.size()));
    if (call.place.load(std::memory_order_acquire) != seen.place) seen.output.clear();   // it was just going on
    all.push_back(std::move(seen));
  }
  return all;
}

// "rank 2 is in open of 'b' (0 s), ranks 0, 1, 3 are in wait of 'a' (30 s)"
std::string CollectiveCalls::describe(const std::vector<Seen>& all) const {
  struct Group {
    std::string what;
    std::vector<int> ranks;
    std::uint64_t since_ns;
  };
  std::vector<Group> groups;
  for (const Seen& seen : all) {
    const std::string what = seen.has_left()     ? "left the session"
                             : seen.is_in_call() ? "in " + named(kind_of(seen.place), seen.output)
                                                 : "in no collective call";
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& each) { return each.what == what; });
    if (group == groups.end()) group = groups.insert(groups.end(), {what, {}, seen.since_ns});
    group->ranks.push_back(seen.rank);
    group->since_ns = std::min(group->since_ns, seen.since_ns);
  }
  const std::uint64_t now = base::now_ns();
  std::string text;
  for (const Group& group : groups) {
    const char* verb = group.what.starts_with("left") ? (group.ranks.size() == 1 ? "has" : "have") : group.ranks.size() == 1 ? "is" : "are";
    text += fmt::format("{}{} {} {} ({:.0f} s)", text.empty() ? "" : ", ", base::readable_ranks(group.ranks), verb, group.what,
                        base::seconds(now - std::min(now, group.since_ns)));
  }
  return text;
}

std::string CollectiveCalls::who_is_missing(const std::vector<Seen>& all) const {
  std::vector<int> missing, busy_in_it;
  for (const Seen& seen : all) {
    if (number_of(seen.place) < number_) missing.push_back(seen.rank);
    else if (number_of(seen.place) == number_ && seen.is_busy()) busy_in_it.push_back(seen.rank);
  }
  if (missing.empty() && busy_in_it.empty()) return places_->spans_nodes() ? "a rank of another node" : "other ranks";
  return base::readable_ranks(missing.empty() ? busy_in_it : missing);
}

std::string CollectiveCalls::late_text(const std::vector<Seen>& all, double seconds) const {
  return fmt::format("waited {} in {} for {}: {}", base::exact_seconds(seconds), named(call_, output_), who_is_missing(all),
                     describe(all));
}

bool CollectiveCalls::have_all_come(const std::vector<Seen>& all) const {
  return std::all_of(all.begin(), all.end(), [&](const Seen& seen) { return number_of(seen.place) >= number_; });
}

bool CollectiveCalls::is_any_busy(const std::vector<Seen>& all) const {
  return std::any_of(all.begin(), all.end(), [&](const Seen& seen) { return number_of(seen.place) == number_ && seen.is_busy(); });
}

// Notes the progress of the drain, for a rank that is busy in the call.
void CollectiveCalls::note_progress() {
  const std::uint64_t done = places_->progress();
  if (done != done_) since_ns_ = base::now_ns();
  done_ = done;
}

bool CollectiveCalls::is_over(const std::vector<Seen>& all) {
  if (is_any_busy(all) || (have_all_come(all) && places_->spans_nodes())) note_progress();
  const std::uint64_t now = base::now_ns();
  // Ranks that have come and are busy give up by themselves, and then they say why. Those that give up together may come a little apart.
  const double limit = (have_all_come(all) ? 2 : 1) * deadline_seconds_;
  if (base::seconds(now - since_ns_) <= limit || base::seconds(now - arrived_ns_) <= grace_seconds) return false;
  if (at_deadline_ == AtDeadline::fail) return true;
  base::log(base::LogLevel::error, "{}", late_text(all, deadline_seconds_));
  since_ns_ = now;
  return false;
}

void CollectiveCalls::check() {
  if (call_ == Call::none) return;
  require_whole_at(number_);
  if (places_ && (place().place.load(std::memory_order_relaxed) & busy_flag) != 0) note_progress();
  if (!places_ || at_deadline_ == AtDeadline::log) return;
  for (int rank = 0; rank < places_->ranks(); ++rank) {
    const std::uint64_t place = places_->of_rank(rank).place.load(std::memory_order_acquire);
    if ((place & left_flag) == 0 || number_of(place) >= number_) continue;
    break_session(base::Errc::invalid_state, number_of(place) + 1,
                  fmt::format("rank {} has left the session: {}", places_->job_rank(rank), describe(see())));
  }
}

void CollectiveCalls::look() {
  if (call_ == Call::none) return;
  const std::uint64_t now = base::now_ns();
  if (now < next_look_ns_) return;
  next_look_ns_ = now + between_looks_ns;
  check();
  if (!places_) {
    if (at_deadline_ == AtDeadline::log || base::seconds(now - since_ns_) <= deadline_seconds_) return;
    broken_ = base::Error(base::Errc::timeout,
                          fmt::format("waited {} in {} for other ranks", base::exact_seconds(deadline_seconds_), named(call_, output_)));
    throw Broken{*broken_};
  }
  const auto all = see();
  if (is_over(all)) break_session(base::Errc::timeout, number_, late_text(all, deadline_seconds_));
}

CollectiveCalls::Brought CollectiveCalls::gather(std::uint64_t slots, std::uint32_t flags, double seconds) {
  pool::NodeCall& call = call_of_node();
  const double limit = std::max(seconds, base::seconds(arrived_ns_ - begin_ns_) + grace_seconds);
  call.slots.fetch_or(slots);
  call.flags.fetch_or(flags);
  call.ranks.fetch_add(1);
  for (;;) {
    std::uint64_t word = call.word.load(std::memory_order_acquire);
    const Decided what = decided(word);
    if (what == all_have_come) return {call.slots.load(), call.flags.load(), {}};
    if (what == given_up) return {0, 0, base::Error(base::Errc::timeout, call.message.data(), how_to_wait)};
    if (what == nothing && static_cast<int>(call.ranks.load(std::memory_order_acquire)) == places_->ranks()) {
      call.word.compare_exchange_strong(word, word_of(number_, kind_of(word), all_have_come));
      continue;
    }
    if (const std::uint64_t now = base::now_ns(); what == nothing && now >= next_look_ns_) {
      next_look_ns_ = now + between_looks_ns;
      check();
      const auto all = see();
      const bool is_late = seconds < 0 ? is_over(all) : base::seconds(now - begin_ns_) >= limit + (have_all_come(all) ? 1 : 0);
      if (is_late && call.word.compare_exchange_strong(word, word_of(number_, kind_of(word), giving_up))) {
        copy_text(call.message, late_text(all, seconds < 0 ? deadline_seconds_ : seconds));
        call.word.store(word_of(number_, kind_of(word), given_up), std::memory_order_release);
      }
    }
    poll_();
    if (base::now_ns() - arrived_ns_ < gathering_yields_ns) sched_yield();
    else usleep(gathering_nap_us);
  }
}

FourWords CollectiveCalls::least(const FourWords& mine) {
  pool::NodeCall& call = call_of_node();
  for (std::size_t word = 0; word < mine.size(); ++word) {
    std::uint64_t least = call.least[word].load(std::memory_order_relaxed);
    while (mine[word] < least && !call.least[word].compare_exchange_weak(least, mine[word])) {}
  }
  const Brought all = gather(0, 0, -1);
  if (all.gave_up) break_session(all.gave_up->code(), number_, all.gave_up->what());
  FourWords least;
  std::transform(call.least.begin(), call.least.end(), least.begin(), [](const auto& word) { return word.load(); });
  return least;
}

bool CollectiveCalls::has_given_up() const {
  const std::uint64_t word = call_of_node().word.load(std::memory_order_acquire);
  return call_ != Call::none && number_of(word) == number_ && decided(word) == given_up;
}

// --- a session that is broken

bool CollectiveCalls::is_broken() const noexcept {
  return broken_ || (places_ && places_->of_session().broken.load(std::memory_order_acquire) != 0);
}

void CollectiveCalls::require_whole_at(std::uint64_t number) const {
  if (broken_) throw Broken{*broken_};
  if (!places_) return;
  const pool::SessionCalls& calls = places_->of_session();
  const std::uint32_t code = calls.broken.load(std::memory_order_acquire);
  if (code == 0 || number < calls.broken_from.load(std::memory_order_acquire)) return;
  throw Broken{{static_cast<base::Errc>(code - 1), calls.broken_message.data(), how_to_call}};
}

// From call number `from` on; all ranks say the same.
void CollectiveCalls::break_session(base::Errc code, std::uint64_t from, const std::string& text) {
  pool::SessionCalls& calls = places_->of_session();
  std::uint32_t unclaimed = 0;
  if (calls.broken_claimed.compare_exchange_strong(unclaimed, 1)) {
    copy_text(calls.broken_message, text);
    calls.broken_from.store(from, std::memory_order_relaxed);
    calls.broken.store(1 + static_cast<std::uint32_t>(code), std::memory_order_release);
  }
  // Another rank may still be writing it.
  for (int turn = 0; turn < 1000 && calls.broken.load(std::memory_order_acquire) == 0; ++turn) usleep(gathering_nap_us);
  std::uint64_t first = calls.broken_from.load(std::memory_order_acquire);
  while (first > from && !calls.broken_from.compare_exchange_weak(first, from)) {}
  require_whole_at(from);
  broken_ = base::Error(code, text, how_to_call);   // that rank is gone
  throw Broken{*broken_};
}

}  // namespace glean::session
