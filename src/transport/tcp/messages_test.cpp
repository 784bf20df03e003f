// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "transport/contract.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/test_peers.hpp"
#include "transport/tree.hpp"

namespace glean::transport {
namespace {

Neighbours tree(int peers) {
  Neighbours neighbours;
  for (int peer = 0; peer < peers; ++peer) neighbours[peer] = Tree(peers).neighbours_of(peer);
  return neighbours;
}

TEST(TcpMessages, KeepWhatTransportsPromise) {
  for (const int peers : {2, 5}) {
    const auto made = make_peers(all_neighbours(peers));
    std::vector<Messages*> all;
    for (const auto& each : made) all.push_back(each.get());

    EXPECT_EQ(play_contract(all), "") << peers;
  }
}

// A node that is no neighbour is found along the tree, by both sides at the same time, too.
TEST(TcpMessages, FindOthersAlongTheTree) {
  const auto made = make_peers(tree(11));
  std::vector<Messages*> all;
  for (const auto& each : made) all.push_back(each.get());

  EXPECT_EQ(play_contract(all), "");
}

TEST(TcpMessages, GoWhereAWayLeads) {
  const auto peers = make_peers(tree(7));
  EXPECT_EQ(error_of([&] { peers[3]->send(7, bytes_of("no")); }).code(), base::Errc::invalid_argument);
  EXPECT_EQ(error_of([&] { peers[3]->send(3, bytes_of("no")); }).code(), base::Errc::invalid_argument);
  EXPECT_EQ(error_of([&] { peers[3]->send(1, std::vector<std::byte>(head_bytes_max + 1)); }).code(), base::Errc::invalid_argument);
}

// Node 0 of three has no connection to node 2, which node 1 looks for.
TEST(TcpMessages, NameANodeThatNoWayLeadsTo) {
  const auto key = make_tcp_key();
  TcpDoor doors[2];
  const std::string addresses[2] = {doors[0].addresses(), doors[1].addresses()};
  auto making = std::async(std::launch::async, [&] {
    return make_tcp_messages(std::move(doors[1]), 1, 3, {{0, addresses[0]}}, key, long_enough);
  });
  const auto messages = make_tcp_messages(std::move(doors[0]), 0, 3, {{1, addresses[1]}}, key, long_enough);
  making.get()->send(2, bytes_of("hello"));

  EXPECT_STREQ(next_error(*messages).what(), "no way leads to node 2");
}

TEST(TcpMessages, WithLargeBodiesGoBothWaysAtOnce) {
  const auto peers = make_peers(all_neighbours(2));
  constexpr std::size_t bytes = 16 * base::MiB;
  std::vector<std::vector<std::byte>> sent, received(4, std::vector<std::byte>(bytes));
  for (int i = 0; i < 4; ++i) {
    auto& body = sent.emplace_back(bytes);
    for (std::size_t at = 0; at < bytes; ++at) body[at] = static_cast<std::byte>(at % 253 + static_cast<std::size_t>(i));
  }
  for (std::size_t i = 0; i < 4; ++i) peers[i % 2]->send(1 - static_cast<int>(i % 2), bytes_of("body"), sent[i], i);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(text_of(next_arrival(*peers[1 - i % 2]).head), "body");
    peers[1 - i % 2]->receive_body(static_cast<int>(i % 2), received[i], 100 + i);
  }

  std::vector<Messages::Token> completed;
  EXPECT_TRUE(comes_true([&] {   // both peers are in this thread: one that waited for the other would never end
    for (const auto& peer : peers) {
      for (const auto token : peer->completed()) completed.push_back(token);
    }
    return completed.size() == 8;
  }));

  std::sort(completed.begin(), completed.end());
  EXPECT_EQ(completed, (std::vector<Messages::Token>{0, 1, 2, 3, 100, 101, 102, 103}));
  EXPECT_TRUE(received == sent);
}

TEST(TcpMessages, ArriveWhileBodiesBeforeThemAreNotTaken) {
  const auto peers = make_peers(all_neighbours(2));
  const std::vector<std::byte> first(8 * base::MiB, std::byte{1}), second(100, std::byte{2});
  peers[0]->send(1, bytes_of("first"), first, 1);
  peers[0]->send(1, bytes_of("second"), second, 2);
  for (int i = 0; i < 1000; ++i) peers[0]->send(1, bytes_of(std::to_string(i)));
  peers[0]->send(1, {});

  EXPECT_EQ(text_of(next_arrival(*peers[1]).head), "first");
  EXPECT_EQ(text_of(next_arrival(*peers[1]).head), "second");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(text_of(next_arrival(*peers[1]).head), std::to_string(i));
  EXPECT_TRUE(next_arrival(*peers[1]).head.empty());
  EXPECT_TRUE(peers[0]->completed().empty());
  std::vector<std::byte> taken_first(first.size()), taken_second(second.size());
  peers[1]->receive_body(0, taken_first, 1);
  peers[1]->receive_body(0, taken_second, 2);
  std::vector<Messages::Token> completed;
  EXPECT_TRUE(comes_true([&] {
    static_cast<void>(peers[0]->completed());
    for (const auto token : peers[1]->completed()) completed.push_back(token);
    return completed.size() == 2;
  }));
  EXPECT_EQ(completed, (std::vector<Messages::Token>{1, 2}));
  EXPECT_TRUE(taken_first == first && taken_second == second);
}

// --- the end of a connection

TEST(TcpMessages, OfAPeerThatGoesAwayAllArriveBeforeItIsReported) {
  auto peers = make_peers(all_neighbours(3));
  for (int i = 0; i < 500; ++i) peers[0]->send(1, bytes_of(std::to_string(i)));
  peers[2]->send(1, bytes_of("from 2"));
  peers[1]->send(0, bytes_of("never looked at"));
  peers[0].reset();

  int heads = 0, others = 0;
  std::string said;
  EXPECT_TRUE(comes_true([&] {
    try {
      if (const auto arrival = peers[1]->arrival()) {
        if (arrival->peer == 2) ++others;
        else EXPECT_EQ(text_of(arrival->head), std::to_string(heads++));
      }
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::io);
      said = error.what();
    }
    return !said.empty() && others == 1;
  }));
  EXPECT_EQ(heads, 500);
  EXPECT_EQ(said, "the connection to node 0 is lost: the other side has closed it");
  EXPECT_EQ(next_error(*peers[1]).what(), said);   // and goes on saying it
  const std::vector<std::byte> body(100);
  peers[1]->send(0, bytes_of("no peer is there"), body, 7);
  EXPECT_EQ(peers[1]->completed(), std::vector<Messages::Token>{7});
  peers[1]->send(2, bytes_of("still there"));
  EXPECT_EQ(text_of(next_arrival(*peers[2]).head), "still there");
}

TEST(TcpMessages, LeaveBodiesAloneWhenTheyEnd) {
  auto peers = make_peers(all_neighbours(2));
  auto body = std::make_unique<std::vector<std::byte>>(32 * base::MiB);
  auto target = std::make_unique<std::vector<std::byte>>(32 * base::MiB);
  peers[0]->send(1, bytes_of("body"), *body, 1);
  static_cast<void>(next_arrival(*peers[1]));
  peers[1]->receive_body(0, *target, 1);
  static_cast<void>(peers[0]->completed());   // a part of it is out
  static_cast<void>(peers[1]->completed());

  body.reset();
  target.reset();
  peers[0].reset();   // a sanitizer would see it
  peers[1].reset();
}

}  // namespace
}  // namespace glean::transport
