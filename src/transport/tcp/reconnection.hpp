// SPDX-License-Identifier: BSD-3-Clause
//
// How a process comes to a new connection with one that it has met before, or finds that it is gone.
#pragma once

#include <chrono>
#include <list>
#include <vector>

#include "transport/tcp/handshake.hpp"
#include "transport/tcp/wakeups.hpp"

namespace glean::transport {

// The side with the lower number connects, at the address where it has found the other one before, and at its other ones. The other side
// waits for that. Meanwhile it holds a connection to the place where the first one listens, and says nothing over it: when it ends,
// it makes another one, which is refused when that process is gone.
//
// Nothing blocks. All of its sockets are among the wake-ups.
class Reconnection {
 public:
  // `met` and the party must outlive it; attempts are counted there.
  Reconnection(const Party& party, int peer, Counterpart& met, const std::vector<Address>& addresses, std::chrono::milliseconds delay);
  // done: take(). failed: that process is gone.
  Progress progress(Wakeups& wakeups);
  [[nodiscard]] Socket take() { return std::move(socket_); }

 private:
  using Clock = std::chrono::steady_clock;
  Progress approach(Wakeups& wakeups);
  Progress look_at_approaches();
  Progress look_for_sign(Wakeups& wakeups);
  void begin_round();

  const Party& party_;
  const int peer_;
  Counterpart& met_;
  std::vector<Address> addresses_;       // the one where it was found first
  std::size_t next_ = 0;
  Clock::time_point next_at_, round_began_at_;
  std::chrono::milliseconds pause_;      // before the next round
  std::list<Approach> approaches_;
  Socket sign_;                          // of life
  bool is_connecting_ = false;
  Socket socket_;
};

}  // namespace glean::transport
