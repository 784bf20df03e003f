// SPDX-License-Identifier: BSD-3-Clause
//
// The collective calls of a session, as the ranks of a node see each other in them. Every rank makes the same calls in the same order; a
// rank whose error was caught by the program may not. The ranks find that out here: each says in the pool which call it is in, and while
// a rank waits for others in a call, it looks where they are.
//
// A call that cannot be completed any more fails on all ranks of the node with one message, and so does every later one: the session is
// broken. An earlier call, to which all ranks have come, goes on. A session is broken when a rank has left it, when ranks are in different
// calls at the same time (MPI would take one for the other), and when ranks have not come for the deadline. `gather` alone needs no MPI,
// so ranks that give up in it can go on together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "session/agreement.hpp"
#include "session/call_places.hpp"

namespace glean::session {

// What a rank throws where no collective call of the session can be made any more. Not an error of the call, which ranks would agree on:
// the public interface turns it into one.
struct Broken {
  base::Error error;
};

enum class Call : std::uint8_t {
  none, arguments, open, end_definitions, wait, close, end, end_step, close_output, give_up, restart, read_all
};

class CollectiveCalls {
 public:
  // What happens when ranks are missing for the deadline. log: the rank that has waited longest says so, and all wait on; for programs
  // that do not know that they make these calls.
  enum class AtDeadline { fail, log };
  // `rank`: of the node. `places`: nullptr on all ranks where there are none, as after release(). What they lie in must live until
  // release(). `poll` lets messages of this rank go on: others may need them to come.
  CollectiveCalls(std::unique_ptr<CallPlaces> places, int rank, double deadline_seconds, AtDeadline at_deadline,
                  std::function<void()> poll);

  // This rank begins the next call, for an output if it is of one. Throws Broken, also where the other ranks have made another call
  // instead. Local, no system call.
  void enter(Call call, std::string_view output);
  void leave_call() noexcept;
  // For now it does something of its own in the call, and waits for no other rank.
  void set_busy(bool busy) noexcept;

  // Called again and again while this rank waits for others in a call. Throws Broken when they cannot come any more, or have not for the
  // deadline, which starts anew as long as the drain makes progress for a rank that is busy in the call. Local.
  void look();
  // Checks without the deadline, for a rank that is busy.
  void check();

  // What all ranks of the node bring along, joined by `or`. When one of them has waited for the others for `seconds`, the call is over
  // for all of them, and the error says so; < 0: the deadline, as look() has it. Collective on a node that is alone, no message. Blocks.
  struct Brought {
    std::uint64_t slots = 0;
    std::uint32_t flags = 0;
    std::optional<base::Error> gave_up;
  };
  [[nodiscard]] Brought gather(std::uint64_t slots, std::uint32_t flags, double seconds);
  // The least of each word that the ranks of the node bring along, in the same way. At the deadline the session is broken. Throws Broken.
  [[nodiscard]] FourWords least(const FourWords& mine);
  // The other ranks have given up in this call. Local.
  [[nodiscard]] bool has_given_up() const;

  // This rank makes no call any more: the others are told at once. Local.
  void leave_session() noexcept;
  [[nodiscard]] bool is_broken() const noexcept;
  // Throws Broken if the next call cannot be made. Local.
  void require_whole() const { require_whole_at(number_ + 1); }
  // The places go. From here on only the deadline counts.
  void release() noexcept { places_.reset(); }
  [[nodiscard]] bool has_places() const { return places_ != nullptr; }

 private:
  struct Seen;
  [[nodiscard]] std::vector<Seen> see() const;
  [[nodiscard]] std::string describe(const std::vector<Seen>& all) const;
  [[nodiscard]] std::string who_is_missing(const std::vector<Seen>& all) const;
  [[nodiscard]] std::string late_text(const std::vector<Seen>& all, double seconds) const;
  [[nodiscard]] pool::RankCall& place() const { return places_->of_rank(rank_); }
  [[nodiscard]] pool::NodeCall& call_of_node() const {
    auto& calls = places_->of_session().calls;
    return calls[number_ % calls.size()];
  }
  pool::NodeCall& claim_call();
  [[nodiscard]] bool have_all_come(const std::vector<Seen>& all) const;
  [[nodiscard]] bool is_any_busy(const std::vector<Seen>& all) const;
  void note_progress();
  [[nodiscard]] bool is_over(const std::vector<Seen>& all);
  [[noreturn]] void break_session(base::Errc code, std::uint64_t from, const std::string& text);
  void require_whole_at(std::uint64_t number) const;

  std::unique_ptr<CallPlaces> places_;
  int rank_;
  double deadline_seconds_;
  AtDeadline at_deadline_;
  std::function<void()> poll_;
  std::uint64_t number_ = 0;            // of the last call
  Call call_ = Call::none;
  std::string output_;
  std::uint64_t begin_ns_ = 0;          // of the call
  std::uint64_t since_ns_ = 0;          // or since the drain has made progress for it
  std::uint64_t arrived_ns_ = 0;        // since when this rank is not busy in it
  std::uint64_t next_look_ns_ = 0, done_ = 0;
  std::optional<base::Error> broken_;   // with what, as this rank has heard of it
};

// This rank is in a collective call, as long as it lives. `calls`: nullptr where there are none.
class InCall {
 public:
  InCall(CollectiveCalls* calls, Call call, std::string_view output) : calls_(calls) {
    if (calls_ != nullptr) calls_->enter(call, output);
  }
  ~InCall() {
    if (calls_ != nullptr) calls_->leave_call();
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

  void set_busy(bool busy) {
    if (calls_ != nullptr) calls_->set_busy(busy);
  }

 private:
  CollectiveCalls* calls_;
};

}  // namespace glean::session
