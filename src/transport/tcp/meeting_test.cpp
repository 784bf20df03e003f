// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/meeting.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "transport/tcp/test_peers.hpp"

namespace glean::transport {
namespace {

TEST(TcpMeeting, IsForThoseWhoHaveTheKey) {
  TcpDoor doors[2];
  const std::string addresses[2] = {doors[0].addresses(), doors[1].addresses()};
  const auto make = [&](int self, double deadline_seconds) {
    return error_of([&] {
      return make_tcp_messages(std::move(doors[self]), self, 2, {{1 - self, addresses[1 - self]}}, make_tcp_key(), deadline_seconds);
    });
  };
  auto accepting = std::async(std::launch::async, [&] { return make(1, 5); });

  const auto connecting = make(0, long_enough);   // knows it at once

  EXPECT_EQ(connecting.code(), base::Errc::permission);
  EXPECT_STREQ(connecting.what(), "no connection to node 1 (it has another key)");
  const auto accepted = accepting.get();
  EXPECT_EQ(accepted.code(), base::Errc::permission);
  EXPECT_STREQ(accepted.what(), "no connection to node 0 (it has another key)");
}

TEST(TcpMeeting, IsNotDisturbedByStrangers) {
  const auto key = make_tcp_key();
  TcpDoor door, other;
  const std::string reached = door.addresses();
  std::vector<Socket> strangers;
  for (int i = 0; i < 300; ++i) {   // more than are let in at once; some say nothing, some too little, some too much, some lie
    strangers.push_back(stranger(door));
    std::vector<std::byte> said(static_cast<std::size_t>(i % 4) * 60, static_cast<std::byte>(i));
    if (i % 4 == 3) {
      const Hello hello{.magic = {'G', 'L', 'E', 'A', 'N', 't', 'c', 'p'}, .version = 3, .from = 0, .to = 1, .peers = 2};
      const auto lie = std::as_bytes(std::span(&hello, 1));
      said.resize(sizeof hello);
      std::copy(lie.begin(), lie.end(), said.begin());
    }
    if (!said.empty()) static_cast<void>(send(strangers.back(), said));
    if (i % 5 == 0) strangers.back().close();
  }
  auto accepting = std::async(std::launch::async, [&] {
    return make_tcp_messages(std::move(door), 1, 2, {{0, other.addresses()}}, key, long_enough);
  });

  const auto connecting = make_tcp_messages(TcpDoor(), 0, 2, {{1, reached}}, key, long_enough);
  const auto accepted = accepting.get();

  connecting->send(1, bytes_of("good day"));
  EXPECT_EQ(text_of(next_arrival(*accepted).head), "good day");
}

TEST(TcpMeeting, NamesThePeersThatDoNotCome) {
  TcpDoor door;
  const std::map<int, std::string> neighbours = {{0, "1 127.0.0.1"}, {3, "1 127.0.0.1"}};   // no process listens there
  const auto error = error_of([&] { return make_tcp_messages(std::move(door), 1, 4, neighbours, make_tcp_key(), 0.5); });
  EXPECT_EQ(error.code(), base::Errc::timeout);
  EXPECT_STREQ(error.what(),
               "after 0.5 s there is no connection to node 0 (nothing was heard of it), node 3 (Connection refused)");
}

TEST(TcpMeeting, NeedsAddressesThatCanBeRead) {
  for (const std::string text : {"", "x", "70000 127.0.0.1", "1", "1 localhost.", "1 127.0.0.1 junk"}) {
    const auto error = error_of([&] { return make_tcp_messages(TcpDoor(), 0, 2, {{1, text}}, make_tcp_key(), 1); });
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
  }
  const auto not_a_peer = error_of([&] { return make_tcp_messages(TcpDoor(), 0, 2, {{2, "1 127.0.0.1"}}, make_tcp_key(), 1); });
  EXPECT_EQ(not_a_peer.code(), base::Errc::invalid_argument);
}

TEST(TcpDoor, SaysWhereItIs) {
  const TcpDoor door;
  EXPECT_LE(door.addresses().size(), 1000u);
  EXPECT_TRUE(door.addresses().find(" 127.0.0.1") != std::string::npos || door.addresses().find(" ::1") != std::string::npos);
  EXPECT_EQ(door.addresses().find("fe80"), std::string::npos);
  EXPECT_TRUE(stranger(door).is_open());
}

}  // namespace
}  // namespace glean::transport
