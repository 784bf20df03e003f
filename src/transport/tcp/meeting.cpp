// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "wire/key.hpp"

namespace glean::transport {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds before_the_next_round{200};
// Strangers that are in the door at once; the longest there goes first.
constexpr std::size_t receptions_at_once = 128;
constexpr int look_again_ms = 20;   // whether another address is to be tried
constexpr std::uint32_t meetings = Wakeups::meetings;

bool is_same(const std::vector<Address>& some, const std::vector<Address>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const Address& one, const Address& other) { return text_of(one) == text_of(other); });
}

}  // namespace

Meeting::Meeting(TcpDoor door, const Party& party, Wakeups& wakeups) : door_(std::move(door)), party_(party), wakeups_(wakeups) {
  wire::require_random_numbers();
  party_.incarnation = wire::make_nonce();
  party_.port = port_of(own_address(door_.socket()));
  wakeups_.add(door_.socket(), meetings, EPOLLIN);
}

Meeting::Deadline::Deadline(double after_seconds) : seconds(after_seconds) {
  const std::chrono::duration<double> at_most(std::min(after_seconds, 1e9));
  at = Clock::now() + std::chrono::duration_cast<Clock::duration>(at_most);
}

void Meeting::expect(int peer, const std::string& addresses, double deadline_seconds) {
  if (peer < 0 || peer >= party_.peers || peer == party_.self) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("node {} has no neighbour {} among {}", party_.self, peer, party_.peers));
  }
  if (peer < party_.self) {
    awaited_.try_emplace(peer, deadline_seconds);
    return;
  }
  const auto search = searches_.find(peer);
  if (search == searches_.end()) searches_.try_emplace(peer, Deadline(deadline_seconds), parse_addresses(addresses));
  else if (!is_same(search->second.addresses, parse_addresses(addresses))) look_at(peer, addresses);   // another process has its place
}

std::map<int, Met> Meeting::progress() {
  for (auto& [peer, search] : searches_) look_for(peer, search);
  let_in();
  receive();
  look_again();
  for (const auto& [peer, met] : met_) {
    searches_.erase(peer);
    awaited_.erase(peer);
    reconnections_.erase(peer);
  }
  if (expects_any()) require_in_time();
  return std::exchange(met_, {});
}

std::map<int, Met> Meeting::hold() {
  std::map<int, Met> all;
  for (;;) {
    all.merge(progress());
    if (!expects_any()) return all;
    static_cast<void>(wakeups_.wait(look_again_ms));
  }
}

void Meeting::require_in_time() const {
  const auto now = Clock::now();
  for (const auto& [peer, deadline] : awaited_) {
    if (now >= deadline.at) throw missing(deadline.seconds);
  }
  for (const auto& [peer, search] : searches_) {
    if (now >= search.deadline.at) throw missing(search.deadline.seconds);
  }
}

void Meeting::look_for(int peer, Search& search) {
  for (auto approach = search.approaches.begin(); approach != search.approaches.end();) {
    const Progress progress = approach->progress();
    if (progress == Progress::done) {
      met_before_.insert_or_assign(peer, MetBefore{approach->counterpart(), search.addresses});
      met_[peer] = {approach->confirm(), true};
      return;
    }
    if (progress == Progress::failed) {
      note(peer, *approach);
      approach = search.approaches.erase(approach);
      search.next_at = std::min(search.next_at, Clock::now());
    } else {
      ++approach;
    }
  }
  if (search.next == search.addresses.size() && search.approaches.empty()) {
    // The process that has the key is behind none of the addresses.
    if (other_keys_.contains(peer)) throw missing(0);
    search.next = 0;
    search.next_at = Clock::now() + before_the_next_round;
  }
  if (search.next < search.addresses.size() && Clock::now() >= search.next_at) approach_next(peer, search);
}

void Meeting::approach_next(int peer, Search& search) {
  const Approach& next = search.approaches.emplace_back(party_, peer, search.addresses[search.next++]);
  wakeups_.add(next.socket(), meetings, Wakeups::changes);
  search.next_at = Clock::now() + between_addresses;
}

void Meeting::let_in() {
  for (;;) {
    Started started = accept_one(door_.socket());
    if (started.error == EAGAIN || started.error == EINVAL) return;   // EINVAL: the socket listens no more
    if (started.error == EMFILE || started.error == ENFILE || started.error == ENOBUFS || started.error == ENOMEM) {
      if (receptions_.empty() && awaited_.empty()) return;
      if (receptions_.empty()) throw base::system_error(started.error, "cannot accept connections of other nodes");
      receptions_.pop_front();
    } else if (started.error == 0) {
      if (receptions_.size() >= receptions_at_once + awaited_.size()) receptions_.pop_front();
      wakeups_.add(receptions_.emplace_back(party_, std::move(started.socket)).socket(), meetings, Wakeups::changes);
    }   // else: that one was gone before it was let in
  }
}

void Meeting::receive() {
  for (auto reception = receptions_.begin(); reception != receptions_.end();) {
    const Progress progress = reception->progress();
    if (progress == Progress::failed) {
      base::log(base::LogLevel::info, "a connection from {} comes to nothing: {}", text_of(reception->from()), reception->problem());
      note(reception->peer(), *reception);
    } else if (progress == Progress::done && is_expected(*reception)) {
      awaited_.erase(reception->peer());
      met_before_[reception->peer()].counterpart = reception->counterpart();
      const bool is_first = reception->met_before() == Incarnation{};
      met_[reception->peer()] = {reception->take(), is_first};
    } else if (progress == Progress::done && is_another(*reception)) {
      reconnections_.erase(reception->peer());
      gone_.insert(reception->peer());
    }
    reception = progress == Progress::waits ? std::next(reception) : receptions_.erase(reception);
  }
}

// One that has been met before is the same process, looks for this one, and has not connected again since: what comes late over a
// connection that it has given up is out of order.
bool Meeting::is_expected(const Reception& reception) const {
  const bool looks_for_another = reception.met_before() != Incarnation{} && reception.met_before() != party_.incarnation;
  const auto known = met_before_.find(reception.peer());
  if (known == met_before_.end()) return awaited_.contains(reception.peer()) && !looks_for_another;
  const Counterpart now = reception.counterpart();
  const Counterpart& last = known->second.counterpart;
  return reception.met_before() == party_.incarnation && now.incarnation == last.incarnation && now.attempt > last.attempt;
}

// Where a process is looked for that has been met before: it is gone, and this one has its place. It will come again.
bool Meeting::is_another(const Reception& reception) const {
  const auto known = met_before_.find(reception.peer());
  const bool looks_for_this = reception.met_before() == Incarnation{} || reception.met_before() == party_.incarnation;
  return known != met_before_.end() && reconnections_.contains(reception.peer()) && looks_for_this &&
         reception.counterpart().incarnation != known->second.counterpart.incarnation;
}

void Meeting::expect_again(int peer, milliseconds delay) {
  MetBefore& known = met_before_.at(peer);
  reconnections_.try_emplace(peer, party_, peer, known.counterpart, known.addresses, delay);
}

void Meeting::expect_another(int peer, double deadline_seconds) {
  const auto known = met_before_.extract(peer);
  reconnections_.erase(peer);
  if (peer < party_.self) {
    awaited_.try_emplace(peer, deadline_seconds);
    return;
  }
  const auto& [counterpart, given] = known.mapped();
  std::vector<Address> addresses = given;
  if (counterpart.door) addresses.insert(addresses.begin(), *counterpart.door);
  searches_.try_emplace(peer, Deadline(deadline_seconds), std::move(addresses));
}

void Meeting::look_at(int peer, const std::string& addresses) {
  const auto search = searches_.find(peer);
  if (search != searches_.end()) search->second = Search(search->second.deadline, parse_addresses(addresses));
}

void Meeting::forget(int peer) {
  reconnections_.erase(peer);
  met_before_.erase(peer);
  awaited_.erase(peer);
  searches_.erase(peer);
}

void Meeting::look_again() {
  for (auto each = reconnections_.begin(); each != reconnections_.end();) {
    const Progress progress = each->second.progress(wakeups_);
    if (progress == Progress::done) met_[each->first] = {each->second.take(), false};
    if (progress == Progress::failed) gone_.insert(each->first);
    each = progress == Progress::waits ? std::next(each) : reconnections_.erase(each);
  }
}

// What a process said that has not proved to be that peer: good enough for the message.
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
  for (const auto& [peer, deadline] : awaited_) add(peer);
  for (const auto& [peer, search] : searches_) {
    if (!met_.contains(peer)) add(peer);
  }
  if (has_other_key) return {base::Errc::permission, "no connection to " + names, "all nodes of a job need the same key"};
  return {base::Errc::timeout, fmt::format("after {:g} s there is no connection to {}", seconds, names),
          "the nodes must reach each other over TCP, at any port"};
}

}  // namespace glean::transport
