// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/meeting.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"

namespace glean::transport {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// An address may be of an interface that is not connected to this node, or lead to some other process: the next one is tried
// soon, whatever becomes of it.
constexpr milliseconds between_addresses{250};
constexpr milliseconds before_the_next_round{200};
// Strangers that are in the door at once; the longest there goes first.
constexpr std::size_t receptions_at_once = 128;

class Meeting {
 public:
  Meeting(const TcpDoor& door, const Party& party, const std::map<int, std::string>& neighbours);
  [[nodiscard]] std::map<int, Socket> hold(double deadline_seconds);

 private:
  // For a peer with a higher number.
  struct Search {
    std::vector<Address> addresses;
    std::size_t next = 0;
    Clock::time_point next_at = Clock::now();
    std::list<Approach> approaches;
  };

  void look_for(int peer, Search& search);
  void approach_next(int peer, Search& search);
  void let_in();
  void receive();
  void wait(Clock::time_point deadline) const;
  void has_come(int peer, Socket socket);
  void note(int peer, const Handshake& failed);
  [[nodiscard]] base::Error missing(double seconds) const;

  const TcpDoor& door_;
  const Party& party_;
  std::map<int, Search> searches_;       // that go on
  std::set<int> awaited_;                // that connect
  std::list<Reception> receptions_;      // the newest last
  std::map<int, Socket> met_;
  std::map<int, std::string> problems_;  // the last, by peer
  std::set<int> other_keys_;
};

Meeting::Meeting(const TcpDoor& door, const Party& party, const std::map<int, std::string>& neighbours) : door_(door), party_(party) {
  for (const auto& [peer, addresses] : neighbours) {
    if (peer < 0 || peer >= party.peers || peer == party.self) {
      throw base::Error(base::Errc::invalid_argument, fmt::format("node {} has no neighbour {} among {}", party.self, peer, party.peers));
    }
    if (peer < party.self) awaited_.insert(peer);
    else searches_[peer].addresses = parse_addresses(addresses);
  }
}

std::map<int, Socket> Meeting::hold(double deadline_seconds) {
  const std::chrono::duration<double> patience(std::min(deadline_seconds, 1e9));
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  for (;;) {
    for (auto& [peer, search] : searches_) look_for(peer, search);
    let_in();
    receive();
    std::erase_if(searches_, [&](const auto& each) { return met_.contains(each.first); });
    if (searches_.empty() && awaited_.empty()) return std::move(met_);
    if (Clock::now() >= deadline) throw missing(deadline_seconds);
    wait(deadline);
  }
}

void Meeting::look_for(int peer, Search& search) {
  for (auto approach = search.approaches.begin(); approach != search.approaches.end();) {
    const Progress progress = approach->progress();
    if (progress == Progress::done) return has_come(peer, approach->confirm());
    if (progress == Progress::failed) {
      note(peer, *approach);
      approach = search.approaches.erase(approach);
      search.next_at = std::min(search.next_at, Clock::now());
    } else {
      ++approach;
    }
  }
  if (search.next == search.addresses.size() && search.approaches.empty()) {
    // Whoever has the key is behind none of the addresses.
    if (other_keys_.contains(peer)) throw missing(0);
    search.next = 0;
    search.next_at = Clock::now() + before_the_next_round;
  }
  if (search.next < search.addresses.size() && Clock::now() >= search.next_at) approach_next(peer, search);
}

void Meeting::approach_next(int peer, Search& search) {
  search.approaches.emplace_back(party_, peer, search.addresses[search.next++]);
  search.next_at = Clock::now() + between_addresses;
}

void Meeting::let_in() {
  for (;;) {
    Started started = accept_one(door_.socket());
    if (started.error == EAGAIN) return;
    if (started.error == EMFILE || started.error == ENFILE || started.error == ENOBUFS || started.error == ENOMEM) {
      if (receptions_.empty()) throw base::system_error(started.error, "cannot accept connections of other nodes");
      receptions_.pop_front();
    } else if (started.error == 0) {
      if (receptions_.size() >= receptions_at_once + awaited_.size()) receptions_.pop_front();
      receptions_.emplace_back(party_, std::move(started.socket));
    }   // else: that one was gone before it was let in
  }
}

void Meeting::receive() {
  for (auto reception = receptions_.begin(); reception != receptions_.end();) {
    const Progress progress = reception->progress();
    if (progress == Progress::failed) {
      base::log(base::LogLevel::info, "a connection from {} comes to nothing: {}", reception->from(), reception->problem());
      note(reception->peer(), *reception);
    } else if (progress == Progress::done && awaited_.erase(reception->peer()) != 0) {
      has_come(reception->peer(), reception->take());
    }
    reception = progress == Progress::waits ? std::next(reception) : receptions_.erase(reception);
  }
}

// Until something has come, or another address is to be tried.
void Meeting::wait(Clock::time_point deadline) const {
  std::vector<pollfd> all = {{door_.socket().descriptor(), POLLIN, 0}};
  auto until = deadline;
  for (const auto& [peer, search] : searches_) {
    if (search.next < search.addresses.size()) until = std::min(until, search.next_at);
    for (const Approach& approach : search.approaches) {
      if (!approach.socket().is_open()) return;   // has failed at once
      all.push_back({approach.socket().descriptor(), static_cast<short>(approach.is_connecting() ? POLLOUT : POLLIN), 0});
    }
  }
  for (const Reception& reception : receptions_) all.push_back({reception.socket().descriptor(), POLLIN, 0});
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  static_cast<void>(::poll(all.data(), all.size(), static_cast<int>(std::clamp<long>(left, 0, 1000))));
}

void Meeting::has_come(int peer, Socket socket) { met_[peer] = std::move(socket); }

// What somebody said who has not proved to be that peer: good enough for the message.
void Meeting::note(int peer, const Handshake& failed) {
  if (peer < 0) return;
  problems_[peer] = failed.problem();
  if (failed.has_other_key()) other_keys_.insert(peer);
}

base::Error Meeting::missing(double seconds) const {
  std::string names;
  bool has_other_key = false;
  const auto add = [&](int peer) {
    const auto problem = problems_.find(peer);
    const bool other_key = other_keys_.contains(peer);
    const std::string why = other_key ? "it has another key" : problem != problems_.end() ? problem->second : "nothing was heard of it";
    names += fmt::format("{}node {} ({})", names.empty() ? "" : ", ", peer, why);
    has_other_key = has_other_key || other_key;
  };
  for (const int peer : awaited_) add(peer);
  for (const auto& [peer, search] : searches_) {
    if (!met_.contains(peer)) add(peer);
  }
  if (has_other_key) return {base::Errc::permission, "no connection to " + names, "all nodes of a job need the same key"};
  return {base::Errc::timeout, fmt::format("after {:g} s there is no connection to {}", seconds, names),
          "the nodes must reach each other over TCP, at any port"};
}

}  // namespace

std::map<int, Socket> meet(const TcpDoor& door, const Party& party, const std::map<int, std::string>& neighbours,
                           double deadline_seconds) {
  if (sodium_init() < 0) throw base::Error(base::Errc::io, "no random numbers to prove a key with");
  return Meeting(door, party, neighbours).hold(deadline_seconds);
}

}  // namespace glean::transport
