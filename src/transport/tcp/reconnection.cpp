// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/reconnection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace glean::transport {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{5}, longest_pause{250};
// A connection that is not answered may be on a way that is cut; the process behind it may be stopped, too.
constexpr std::chrono::seconds longest_round{10};

bool is_same(const Address& one, const Address& other) { return host_of(one) == host_of(other) && port_of(one) == port_of(other); }

}  // namespace

Reconnection::Reconnection(const Party& party, int peer, Counterpart& met, const std::vector<Address>& addresses, milliseconds delay)
    : party_(party), peer_(peer), met_(met), next_at_(Clock::now() + delay), round_began_at_(next_at_), pause_(first_pause) {
  if (met.door) addresses_.push_back(*met.door);
  for (const Address& address : addresses) {
    if (!met.door || !is_same(address, *met.door)) addresses_.push_back(address);
  }
}

Progress Reconnection::progress(Wakeups& wakeups) { return peer_ > party_.self ? approach(wakeups) : look_for_sign(wakeups); }

void Reconnection::begin_round() {
  approaches_.clear();
  next_ = 0;
  round_began_at_ = next_at_ = Clock::now() + pause_;
  pause_ = std::min(2 * pause_, longest_pause);
}

// Goes on until nothing is to be done at once: on the same node the kernel refuses a connection within the call.
Progress Reconnection::approach(Wakeups& wakeups) {
  for (;;) {
    const Progress progress = look_at_approaches();
    if (progress != Progress::waits) return progress;
    const auto now = Clock::now();
    const bool is_over = next_ == addresses_.size() && (approaches_.empty() || now > round_began_at_ + longest_round);
    if (is_over) begin_round();
    if (next_ == addresses_.size() || now < next_at_) return Progress::waits;
    ++met_.attempt;
    wakeups.add(approaches_.emplace_back(party_, peer_, addresses_[next_++], met_).socket(), Wakeups::meetings, Wakeups::changes);
    next_at_ = now + between_addresses;
  }
}

Progress Reconnection::look_at_approaches() {
  for (auto approach = approaches_.begin(); approach != approaches_.end();) {
    const Progress progress = approach->progress();
    if (progress == Progress::done) {
      met_ = approach->counterpart();
      socket_ = approach->confirm();
      return Progress::done;
    }
    // Its other addresses may lead anywhere.
    if (progress == Progress::failed && approach->finds_none() && is_same(approach->address(), addresses_.front())) return progress;
    if (progress == Progress::failed) next_at_ = std::min(next_at_, Clock::now());
    approach = progress == Progress::failed ? approaches_.erase(approach) : std::next(approach);
  }
  return Progress::waits;
}

Progress Reconnection::look_for_sign(Wakeups& wakeups) {
  if (!met_.door) return Progress::waits;
  for (;;) {
    if (sign_.is_open() && is_connecting_) {
      const int error = connecting_error(sign_);
      if (error == ECONNREFUSED) return Progress::failed;
      if (error == EINPROGRESS && Clock::now() < round_began_at_ + longest_round) return Progress::waits;
      is_connecting_ = false;
      if (error != 0) sign_.close();
    }
    if (sign_.is_open()) {
      std::array<std::byte, 64> unwanted;
      const Moved moved = receive(sign_, unwanted);
      if (!moved.is_end && moved.error == 0) return Progress::waits;
      sign_.close();
    }
    if (Clock::now() < next_at_) return Progress::waits;
    begin_round();
    Started started = start_connecting(*met_.door);
    if (started.error == ECONNREFUSED) return Progress::failed;
    if (started.error != 0) return Progress::waits;
    sign_ = std::move(started.socket);
    is_connecting_ = true;
    wakeups.add(sign_, Wakeups::meetings, Wakeups::changes);
  }
}

}  // namespace glean::transport
