// SPDX-License-Identifier: BSD-3-Clause
//
// How a process comes to connections with others, and to new ones when these have ended: of two, the one with the lower number looks for
// the other, which waits for it.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/messages.hpp"
#include "transport/tcp/reconnection.hpp"
#include "transport/tcp/wakeups.hpp"

namespace glean::transport {

// A connection. The first one to that process: neither has received anything of the other.
struct Met {
  Socket socket;
  bool is_first = true;
};

// Nothing blocks but hold(). All of its sockets are among the wake-ups, which must outlive it; one that it gives away stays there.
class Meeting {
 public:
  Meeting(TcpDoor door, const Party& party, Wakeups& wakeups);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // From now on that peer is to come, until the deadline. `addresses`: where it is; not needed of one with a lower number.
  void expect(int peer, const std::string& addresses, double deadline_seconds);
  [[nodiscard]] bool expects(int peer) const { return awaited_.contains(peer) || searches_.contains(peer); }
  [[nodiscard]] bool expects_any() const { return !awaited_.empty() || !searches_.empty(); }
  [[nodiscard]] bool expects_any_again() const { return !reconnections_.empty(); }
  // That peer has come, and is to come again: the same process, over another connection; not before `delay`. progress() returns it.
  void expect_again(int peer, std::chrono::milliseconds delay);
  [[nodiscard]] bool expects_again(int peer) const { return reconnections_.contains(peer); }
  // The process of that peer has ended: another one is to come until the deadline, as by expect(), at the same addresses.
  void expect_another(int peer, double deadline_seconds);
  // One that is expected with a higher number is at these addresses, and no others.
  void look_at(int peer, const std::string& addresses);
  // That peer may not come again.
  void forget(int peer);
  // Peers that were to come again, and whose process is gone. Each is returned once.
  [[nodiscard]] std::set<int> take_gone() { return std::exchange(gone_, {}); }
  [[nodiscard]] const Counterpart& counterpart(int peer) const { return met_before_.at(peer).counterpart; }
  // Goes on with it: the peers that have come, each having proved itself. Throws base::Error: timeout, naming those that did not
  // come by their deadline; permission if one has another key; io.
  [[nodiscard]] std::map<int, Met> progress();
  // All that are expected. Throws the same. Blocks.
  [[nodiscard]] std::map<int, Met> hold();
  [[nodiscard]] const std::string& own_addresses() const { return door_.addresses(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Deadline {
    explicit Deadline(double after_seconds);
    Clock::time_point at;
    double seconds;
  };
  // For a peer with a higher number.
  struct Search {
    Search(const Deadline& until, std::vector<Address> there) : deadline(until), addresses(std::move(there)) {}
    Deadline deadline;
    std::vector<Address> addresses;
    std::size_t next = 0;
    Clock::time_point next_at = Clock::now();
    std::list<Approach> approaches;
  };

  struct MetBefore {
    Counterpart counterpart;
    std::vector<Address> addresses;   // that it has been looked for at
  };

  void look_for(int peer, Search& search);
  void approach_next(int peer, Search& search);
  void let_in();
  void receive();
  [[nodiscard]] bool is_expected(const Reception& reception) const;
  [[nodiscard]] bool is_another(const Reception& reception) const;
  void look_again();
  void require_in_time() const;
  void note(int peer, const Handshake& failed);
  [[nodiscard]] base::Error missing(double seconds) const;

  TcpDoor door_;
  Party party_;
  Wakeups& wakeups_;
  std::map<int, Search> searches_;       // that go on
  std::map<int, Deadline> awaited_;      // that connect
  std::list<Reception> receptions_;      // the newest last
  std::map<int, Met> met_;
  std::map<int, MetBefore> met_before_;
  std::map<int, Reconnection> reconnections_;
  std::set<int> gone_;
  std::map<int, std::string> problems_;  // the last, by peer
  std::set<int> other_keys_;
};

}  // namespace glean::transport
