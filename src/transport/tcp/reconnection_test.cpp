// SPDX-License-Identifier: BSD-3-Clause
//
// Connections that break between processes that live: nothing is lost, taken twice, or out of order.
#include "transport/tcp/reconnection.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>

#include "base/log.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/meeting.hpp"
#include "transport/tcp/test_peers.hpp"
#include "transport/tcp/test_proxy.hpp"

namespace glean::transport {
namespace {

using Is = Fate::Is;

constexpr std::uint64_t handshake_bytes = 2 * sizeof(Hello) + 2 * sizeof(wire::Proof);

// For those that break often.
struct Quiet {
  Quiet() { base::set_log_level(base::LogLevel::error); }
  ~Quiet() { base::set_log_level(base::LogLevel::warning); }
};

// Peers, each of which connects to those with higher numbers through a proxy.
struct PeersBehindProxies {
  PeersBehindProxies(int peers, const std::function<Fate(int)>& fate_of, Making how = {}, bool cuts_when_still = true) {
    how.way = [&](int from, int to, const std::string& addresses) {
      if (from > to) return addresses;
      proxies.push_back(std::make_unique<Proxy>(addresses, fate_of, cuts_when_still));
      return proxies.back()->addresses();
    };
    all = make_peers(all_neighbours(peers), how);
  }
  [[nodiscard]] std::vector<Messages*> pointers() const {
    std::vector<Messages*> each;
    for (const auto& peer : all) each.push_back(peer.get());
    return each;
  }
  ~PeersBehindProxies() { end_peers(all); }
  std::vector<std::unique_ptr<Proxy>> proxies;
  std::vector<std::unique_ptr<Messages>> all;
};

std::function<Fate(int)> first_one(Fate fate) {
  return [fate](int connection) { return connection == 0 ? fate : Fate{}; };
}

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t at = 0; at < count; ++at) bytes[at] = static_cast<std::byte>(at * 7 % 251);
  return bytes;
}

// A body from peer 0 to peer 1, and a head after it.
void expect_body_arrives(const PeersBehindProxies& peers, std::size_t bytes, const std::function<void()>& meanwhile = [] {}) {
  Messages &from = *peers.all[0], &to = *peers.all[1];
  const auto body = some_bytes(bytes);
  from.send(1, bytes_of("with a body"), body, 1);
  from.send(1, bytes_of("without"));
  std::vector<std::byte> target(bytes);
  std::vector<std::string> heads;
  bool is_sent = false, is_received = false;
  EXPECT_TRUE(comes_true([&] {
    meanwhile();
    while (const auto arrival = to.arrival()) {
      heads.push_back(text_of(arrival->head));
      if (heads.size() == 1) to.receive_body(0, target, 2);
    }
    for ([[maybe_unused]] const auto token : to.completed()) is_received = true;
    for ([[maybe_unused]] const auto token : from.completed()) is_sent = true;
    static_cast<void>(from.arrival());
    return is_sent && is_received && heads.size() == 2;
  }));
  EXPECT_EQ(heads, (std::vector<std::string>{"with a body", "without"}));
  EXPECT_TRUE(target == body);
}

class CutConnections : public testing::TestWithParam<unsigned> {};

TEST_P(CutConnections, KeepWhatTransportsPromise) {
  const Quiet quiet;
  std::mt19937 random(GetParam());
  std::mutex mutex;
  const auto fate_of = [&](int connection) -> Fate {
    const std::lock_guard lock(mutex);
    const Is kinds[] = {Is::closed, Is::reset, Is::swallowed, Is::damaged};
    // The first time they meet it comes to nothing when a handshake does not.
    return {kinds[random() % 4], (connection == 0 ? handshake_bytes : 0) + random() % (1U << (10 + random() % 9))};
  };
  const PeersBehindProxies peers(3, fate_of);

  EXPECT_EQ(play_contract(peers.pointers()), "");
  for (const auto& proxy : peers.proxies) EXPECT_GT(proxy->connections(), 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CutConnections, testing::Range(1U, 5U));

// In every record of the handshake, in headers, heads, checksums, and bodies.
TEST(TcpReconnection, GoesOnWhereverItIsCut) {
  const Quiet quiet;
  const PeersBehindProxies peers(2, [](int connection) -> Fate {
    return {connection % 2 == 0 ? Is::closed : Is::reset, connection == 0 ? handshake_bytes : static_cast<std::uint64_t>(connection) * 23};
  });
  for (int i = 0; peers.proxies.front()->connections() < 60; ++i) expect_body_arrives(peers, 100 + static_cast<std::size_t>(i) % 50);
}

TEST(TcpReconnection, IsToldWhenItBreaksAndWhenItIsBack) {
  const PeersBehindProxies peers(2, first_one({Is::reset, handshake_bytes + 100'000}));
  testing::internal::CaptureStderr();
  expect_body_arrives(peers, base::MiB);
  const std::string said = testing::internal::GetCapturedStderr();

  const auto count = [&](const std::string& text) {
    int times = 0;
    for (std::size_t at = said.find(text); at != std::string::npos; at = said.find(text, at + 1)) ++times;
    return times;
  };
  for (const std::string node : {"node 0: the connection to node 1 ", "node 1: the connection to node 0 "}) {
    EXPECT_EQ(count(node + "(127.0.0.1 port "), 2) << said;
    EXPECT_EQ(count(node), 2) << said;
  }
  EXPECT_EQ(count(") is broken: "), 2) << said;
  EXPECT_EQ(count(") is back after "), 2) << said;
}

TEST(TcpReconnection, SendsWhatWasDamagedOnceMore) {
  const PeersBehindProxies peers(2, first_one({Is::damaged, handshake_bytes + 500'000}));
  expect_body_arrives(peers, base::MiB);
  EXPECT_EQ(peers.proxies.front()->connections(), 2);
}

// What the kernel has handed on is not what the other process has.
TEST(TcpReconnection, SendsWhatWasSwallowedOnceMore) {
  const PeersBehindProxies peers(2, first_one({Is::swallowed, handshake_bytes + 500'000}), {}, false);
  Proxy& proxy = *peers.proxies.front();
  bool is_cut = false;
  expect_body_arrives(peers, base::MiB, [&] {
    if (proxy.swallowed_bytes() > 400'000 && !std::exchange(is_cut, true)) proxy.cut();
  });
  EXPECT_TRUE(is_cut);
  EXPECT_EQ(proxy.connections(), 2);
}

TEST(TcpReconnection, EndsWhenAllThatComesIsDamaged) {
  const Quiet quiet;
  const PeersBehindProxies peers(2, [](int connection) -> Fate {
    return {Is::damaged, handshake_bytes + (connection == 0 ? 0 : 2 * sizeof(FrameHeader)) + 20};
  });
  peers.all[0]->send(1, bytes_of("a head"));
  std::string said;
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(peers.all[0]->completed());
    const auto error = error_of([&] { return peers.all[1]->arrival(); });
    said = error.what();
    return error.code() == base::Errc::io;
  }));
  EXPECT_EQ(said, "the connection to node 0 is lost: what comes is damaged on the way, again and again");
}

TEST(TcpReconnection, IsGivenUpWhenNothingAnswers) {
  const auto fate_of = [](int connection) { return connection == 0 ? Fate{Is::closed, handshake_bytes + 50} : Fate{Is::swallowed, 0}; };
  const PeersBehindProxies peers(2, fate_of, {.patience = {.deadline_seconds = 1}}, false);
  peers.all[0]->send(1, bytes_of("a head that does not come through"));
  const std::string why = "the other side has closed it, and for 0.5 s there was no way to it";
  auto other = std::async(std::launch::async, [&] { return next_error(*peers.all[1]); });
  EXPECT_EQ(next_error(*peers.all[0]).what(), "the connection to node 1 is lost: " + why);
  EXPECT_EQ(other.get().what(), "the connection to node 0 is lost: " + why);
}

TEST(TcpReconnection, LetsTheLastWordsThrough) {
  PeersBehindProxies peers(2, first_one({Is::closed, handshake_bytes + 10'000}));
  for (int i = 0; i < 1000; ++i) peers.all[0]->send(1, bytes_of(std::to_string(i)));
  auto ending = std::async(std::launch::async, [&] { peers.all[0].reset(); });

  for (int i = 0; i < 1000; ++i) ASSERT_EQ(text_of(next_arrival(*peers.all[1]).head), std::to_string(i));
  EXPECT_STREQ(next_error(*peers.all[1]).what(), "the connection to node 0 is lost: the other side has closed it");
  EXPECT_GE(peers.proxies.front()->connections(), 2);   // an attempt to connect again may fail and be repeated
}

TEST(TcpReconnection, IsForTheSameProcessesOnly) {
  const auto key = make_tcp_key();
  TcpDoor door;
  const std::string reached = door.addresses();
  Wakeups wakeups[3];
  Meeting accepting(std::move(door), Party{.self = 1, .peers = 2, .key = key}, wakeups[0]);
  Meeting connecting(TcpDoor(), Party{.self = 0, .peers = 2, .key = key}, wakeups[1]);
  Meeting restarted(TcpDoor(), Party{.self = 0, .peers = 2, .key = key}, wakeups[2]);
  accepting.expect(0, "", long_enough);
  connecting.expect(1, reached, long_enough);
  std::optional<Met> one, other;
  const auto have_met = [&] {
    for (auto& [peer, met] : accepting.progress()) one = std::move(met);
    for (auto& [peer, met] : connecting.progress()) other = std::move(met);
    return one && other;
  };
  ASSERT_TRUE(comes_true(have_met));
  EXPECT_TRUE(one->is_first && other->is_first);

  // Its connection is closed, when it has said all that it has to say.
  restarted.expect(1, reached, long_enough);
  std::optional<Met> of_restarted;
  EXPECT_TRUE(comes_true([&] {
    EXPECT_TRUE(accepting.progress().empty());
    for (auto& [peer, met] : restarted.progress()) of_restarted = std::move(met);
    std::array<std::byte, 1> nothing;
    return of_restarted && receive(of_restarted->socket, nothing).is_end;
  }));

  one.reset();
  other.reset();
  accepting.expect_again(0, {});
  connecting.expect_again(1, {});
  EXPECT_TRUE(comes_true(have_met));
  EXPECT_FALSE(one->is_first || other->is_first);
}

// --- a network that is cut: packets go nowhere, and no kernel says so

bool has_own_network() { return ::unshare(CLONE_NEWNET) == 0; }

bool set_loopback(bool is_up) {
  const Socket any(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq request{};
  std::string("lo").copy(request.ifr_name, sizeof request.ifr_name);
  request.ifr_flags = is_up ? IFF_UP : 0;
  return ::ioctl(any.descriptor(), SIOCSIFFLAGS, &request) == 0;
}

TEST(TcpReconnection, NoticesASilentNodeThoughNothingIsToBeSaid) {
  std::string said[2];
  bool is_possible = false;
  std::thread([&] {   // the network is that of the thread
    if (!has_own_network() || !set_loopback(true)) return;
    is_possible = true;
    auto peers = make_peers(all_neighbours(2), {.patience = {.deadline_seconds = 1, .silence_seconds = 1}});
    ASSERT_TRUE(set_loopback(false));
    auto other = std::async(std::launch::async, [&] { return next_error(*peers[1]); });
    said[0] = next_error(*peers[0]).what();
    said[1] = other.get().what();
    end_peers(peers);
  }).join();
  if (!is_possible) GTEST_SKIP() << "needs a network of its own";
  for (const std::string& each : said) EXPECT_TRUE(each.ends_with(", and for 0.5 s there was no way to it")) << each;
}

}  // namespace
}  // namespace glean::transport
