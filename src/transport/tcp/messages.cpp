// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/meeting.hpp"
#include "transport/tcp/wakeups.hpp"
#include "transport/tree.hpp"

namespace glean::transport {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr seconds last_words{1};
constexpr milliseconds last_answers{100};      // for an answer of the process on the other side, and not just of its kernel
constexpr seconds between_looks{1};
constexpr double for_ever = 1e9;
constexpr milliseconds before_next_attempt{50};   // after a new connection that came to nothing
constexpr milliseconds before_warning{250};    // that a connection is broken: its process may just be found to be gone

class TcpMessages final : public Messages {
 public:
  TcpMessages(TcpDoor door, const Party& party, const Tree& tree, const std::map<int, std::string>& neighbours, double deadline_seconds,
              const TcpPatience& patience)
      : self_(party.self), tree_(tree), patience_(patience), meeting_(std::move(door), party, wakeups_) {
    for (const auto& [peer, addresses] : neighbours) {
      meeting_.expect(peer, addresses, deadline_seconds);
      neighbours_.insert(peer);
    }
    for (auto& [peer, met] : meeting_.hold()) begin(peer, std::move(met));
    for (const int peer : patience_.not_waited_for) meeting_.expect(peer, "", for_ever);
  }
  ~TcpMessages() override;
  TcpMessages(const TcpMessages&) = delete;
  TcpMessages& operator=(const TcpMessages&) = delete;

  [[nodiscard]] int self() const override { return self_; }
  [[nodiscard]] int peers() const override { return tree_.nodes(); }
  [[nodiscard]] Tree tree() const override { return tree_; }
  void let_go(int peer) override { may_end_.insert(peer); }
  [[nodiscard]] std::vector<int> take_replaced() override { return std::exchange(replaced_, {}); }
  void look_at(int peer, const std::string& addresses) override {
    if (to_be_replaced_.contains(peer)) meeting_.look_at(peer, addresses);
  }
  void has_another(int peer) override {
    const auto link = links_.find(peer);
    const bool is_broken = link != links_.end() && link->second.connection.has_begun() && !link->second.connection.is_up();
    if (is_broken && !neighbours_.contains(peer)) is_gone(peer);
  }
  [[nodiscard]] bool reaches(int peer) const override { return links_.at(peer).connection.is_up(); }

  void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) override {
    if (head.size() > head_bytes_max) throw base::Error(base::Errc::invalid_argument, fmt::format("a head of {} bytes", head.size()));
    Link& there = to(peer);
    there.connection.send(head, body, token);
    watch(peer, there);
  }

  [[nodiscard]] std::optional<Arrival> arrival() override {
    if (auto first = next_arrival()) return first;
    progress();
    if (auto first = next_arrival()) return first;
    for (const auto& [peer, link] : links_) {
      if (!link.connection.loss().empty() && !may_end_.contains(peer)) {
        throw base::Error(base::Errc::io, fmt::format("the connection to node {} is lost: {}", peer, link.connection.loss()));
      }
    }
    return std::nullopt;
  }

  void receive_body(int peer, std::span<std::byte> target, Token token) override { to(peer).connection.receive_body(target, token); }

  [[nodiscard]] std::vector<Token> completed() override {
    progress();
    return std::exchange(completed_, {});
  }

  [[nodiscard]] std::optional<int> descriptor() const override { return wakeups_.descriptor(); }

 private:
  struct Link {
    Link(std::vector<Token>& completed, double silence_seconds) : connection(completed, silence_seconds) {}
    Connection connection;
    std::uint32_t watched_for = 0;
    std::optional<Clock::time_point> broken_since;
    std::string problem;              // why it broke
    bool has_warned = false;
  };

  // One that there is no connection to yet is looked for; what is sent waits meanwhile.
  [[nodiscard]] Link& to(int peer) {
    const auto found = links_.find(peer);
    if (found != links_.end()) return found->second;
    const bool is_other = peer >= 0 && peer < peers() && peer != self_;
    if (!is_other || !links_.contains(tree_.way_to(peer, self_))) {
      throw base::Error(base::Errc::invalid_argument, fmt::format("no way leads from node {} to a node {}", self_, peer));
    }
    introduce(peer);
    return links_.try_emplace(peer, completed_, patience_.silence_seconds).first->second;
  }

  // This node to another one, along the tree: the one of them with the lower number then connects.
  void introduce(int peer) {
    if (peer < self_) meeting_.expect(peer, "", patience_.deadline_seconds);
    pass_on({static_cast<std::uint32_t>(self_), static_cast<std::uint32_t>(peer), meeting_.own_addresses()});
  }

  void pass_on(const Introduction& introduction) {
    const int next = tree_.way_to(static_cast<int>(introduction.to), self_);
    const auto found = links_.find(next);
    if (found == links_.end()) throw base::Error(base::Errc::io, fmt::format("no way leads to node {}", introduction.to));
    found->second.connection.introduce(introduction);
    watch(next, found->second);
  }

  // To those that do not come: a stager that was to pass it on may have been killed, or the one that was introduced.
  void introduce_again() {
    for (const auto& [peer, link] : links_) {
      if (!link.connection.is_up() && link.connection.loss().empty() && !neighbours_.contains(peer)) introduce(peer);
    }
  }

  void on_introduction(const Introduction& introduction) {
    const int from = static_cast<int>(introduction.from), to = static_cast<int>(introduction.to);
    const bool is_known = from >= 0 && from < peers() && to >= 0 && to < peers() && from != to && from != self_;
    if (!is_known) throw base::Error(base::Errc::io, "a message of another node cannot be understood");
    if (to != self_) return pass_on(introduction);
    const auto known = links_.find(from);
    if (known != links_.end() && known->second.connection.has_begun()) return;
    links_.try_emplace(from, completed_, patience_.silence_seconds);
    if (from < self_) introduce(from);
    else meeting_.expect(from, introduction.addresses, patience_.deadline_seconds);
  }

  void begin(int peer, Met met) {
    Link& link = links_.try_emplace(peer, completed_, patience_.silence_seconds).first->second;
    if (!link.connection.loss().empty()) return;
    const bool is_another = to_be_replaced_.erase(peer) != 0;
    if (is_another) base::log(base::LogLevel::warning, "node {}: another process has the place of node {}", self_, peer);
    if (link.connection.is_up()) is_broken(link, "the other side has connected again");
    link.watched_for = EPOLLIN;
    wakeups_.change(met.socket, static_cast<std::uint32_t>(peer), EPOLLIN);
    link.connection.begin(std::move(met.socket), met.is_first);
    watch(peer, link);
  }

  void watch(int peer, Link& link) {
    const Connection& connection = link.connection;
    const std::uint32_t events = (connection.is_full() ? 0U : EPOLLIN) | (connection.has_output() ? EPOLLOUT : 0U);
    if (!connection.socket().is_open() || std::exchange(link.watched_for, events) == events) return;
    wakeups_.change(connection.socket(), static_cast<std::uint32_t>(peer), events);
  }

  // Asks the kernel once for all where something has happened: most of the time it is nowhere.
  void progress(int timeout_ms = 0) {
    for (auto& [peer, link] : links_) link.connection.acknowledge();
    bool anyone_comes = meeting_.expects_any() || meeting_.expects_any_again();
    for (const Wakeups::Event& event : wakeups_.wait(timeout_ms)) {
      if (event.whose == Wakeups::meetings) {
        anyone_comes = true;
        continue;
      }
      Link& link = links_.at(static_cast<int>(event.whose));
      if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) link.connection.read();
      link.connection.write();
      while (const auto introduction = link.connection.next_introduction()) on_introduction(*introduction);
    }
    const auto now = Clock::now();
    for (auto& [peer, link] : links_) anyone_comes = mend(peer, link, now) || anyone_comes;
    for (const int peer : std::exchange(lost_, {})) is_gone(peer);
    if (anyone_comes) {
      for (auto& [peer, met] : meeting_.progress()) begin(peer, std::move(met));
      for (const int peer : meeting_.take_gone()) is_gone(peer);
    }
    for (auto& [peer, link] : links_) watch(peer, link);
    if (now < silence_looked_for_ + between_looks) return;
    silence_looked_for_ = now;
    for (auto& [peer, link] : links_) link.connection.notice_silence();
    if (patience_.replaced_seconds != 0) introduce_again();
  }

  // Sees to it that a connection that is broken is made again. True: it is looked for from now on.
  bool mend(int peer, Link& link, Clock::time_point now) {
    const Connection& connection = link.connection;
    if (!connection.has_begun() || !connection.loss().empty()) return false;
    if (connection.is_up()) {
      if (link.broken_since) is_mended(peer, link);
      return false;
    }
    const bool is_first = !link.broken_since;
    if (is_first) is_broken(link, connection.problem());
    const bool is_taken_over = patience_.taken_over_seconds != 0 && tree_.is_stager(peer);
    // Calls that wait hear of it before they are over.
    const double seconds_at_most = is_taken_over ? patience_.replaced_seconds : patience_.deadline_seconds / 2;
    if (std::chrono::duration<double>(now - *link.broken_since).count() > seconds_at_most) {
      if (is_taken_over) lost_.push_back(peer);   // the caller looks at all links
      if (is_taken_over) return false;
      lose(peer, fmt::format("{}, and for {:g} s there was no way to it", link.problem, seconds_at_most));
      return false;
    }
    if (now > *link.broken_since + before_warning) warn(peer, link);
    if (connection.socket().is_open() || meeting_.expects_again(peer)) return false;
    meeting_.expect_again(peer, is_first ? milliseconds(0) : before_next_attempt);
    return true;
  }

  static void is_broken(Link& link, const std::string& problem) {
    link.broken_since = Clock::now();
    link.problem = problem;
    link.has_warned = false;
  }

  void warn(int peer, Link& link) {
    if (std::exchange(link.has_warned, true)) return;
    base::log(base::LogLevel::warning, "node {}: the connection to node {} ({}) is broken: {}; it is tried again for {:g} s", self_, peer,
              place_of(peer), link.problem, patience_.deadline_seconds / 2);
  }

  void is_mended(int peer, Link& link) {
    warn(peer, link);
    const std::chrono::duration<double> took = Clock::now() - *link.broken_since;
    base::log(base::LogLevel::warning, "node {}: the connection to node {} ({}) is back after {:.1f} s", self_, peer, place_of(peer),
              took.count());
    link.broken_since.reset();
  }

  [[nodiscard]] std::string place_of(int peer) const {
    const auto& door = meeting_.counterpart(peer).door;
    return door ? text_of(*door) : "no known address";
  }

  // Its process has ended.
  void is_gone(int peer) {
    const auto link = links_.find(peer);
    if (patience_.replaced_seconds == 0 || !tree_.is_stager(peer)) return lose(peer, link->second.problem);
    const bool is_neighbour = neighbours_.contains(peer);
    link->second.connection.lose(link->second.problem);   // what was to be sent is complete
    links_.erase(link);
    if (is_neighbour) {
      base::log(base::LogLevel::warning, "node {}: the process of node {} has ended; another one may take its place for {:g} s", self_,
                peer, patience_.replaced_seconds + patience_.taken_over_seconds);
      links_.try_emplace(peer, completed_, patience_.silence_seconds);
      to_be_replaced_.insert(peer);
      meeting_.expect_another(peer, patience_.replaced_seconds + patience_.taken_over_seconds);
    } else {
      meeting_.forget(peer);
    }
    replaced_.push_back(peer);
  }

  void lose(int peer, const std::string& why) {
    links_.at(peer).connection.lose(why);
    meeting_.forget(peer);
  }

  // In turn, so that a peer that says much does not keep the others from being heard.
  [[nodiscard]] std::optional<Arrival> next_arrival() {
    auto next = links_.upper_bound(last_heard_);
    for (std::size_t i = 0; i < links_.size(); ++i, ++next) {
      if (next == links_.end()) next = links_.begin();
      if (auto head = next->second.connection.next_head()) return Arrival{last_heard_ = next->first, std::move(*head)};
    }
    return std::nullopt;
  }

  int self_;
  Tree tree_;
  TcpPatience patience_;
  std::set<int> neighbours_, may_end_;
  std::set<int> to_be_replaced_;    // neighbours that are looked for
  std::vector<int> replaced_;
  std::vector<int> lost_;           // that cannot be reached, and are not waited for any longer
  std::vector<Token> completed_;
  Wakeups wakeups_;
  Meeting meeting_;
  std::map<int, Link> links_;
  int last_heard_ = -1;
  std::chrono::steady_clock::time_point silence_looked_for_{};
};

// Memory that bodies lie in, or shall, may be gone already: the caller that wanted them has not waited.
TcpMessages::~TcpMessages() {
  for (auto& [peer, link] : links_) link.connection.end();
  const auto begin = Clock::now();
  for (auto waited = Clock::duration(0); waited < last_words; waited = Clock::now() - begin) {
    const bool is_patient = waited < last_answers;
    if (std::all_of(links_.begin(), links_.end(), [&](const auto& each) { return each.second.connection.has_ended(is_patient); })) return;
    try {
      progress(1);
    } catch (const base::Error&) {
      // Of nodes that have not come: they do not matter any more.
    }
  }
}

}  // namespace

TcpKey make_tcp_key() { return wire::make_key(); }

TcpDoor::TcpDoor(std::uint16_t port) : socket_(listen_anywhere(port)), addresses_(addresses_of(socket_, addresses_bytes_max)) {}

std::uint16_t TcpDoor::port() const { return port_of(own_address(socket_)); }

std::unique_ptr<Messages> make_tcp_messages(TcpDoor door, int self, const Tree& tree,
                                            const std::map<int, std::string>& neighbours, const TcpKey& key, double deadline_seconds,
                                            const TcpPatience& patience) {
  return std::make_unique<TcpMessages>(std::move(door), Party{.self = self, .peers = tree.nodes(), .key = key}, tree, neighbours,
                                       deadline_seconds, patience);
}

}  // namespace glean::transport
