// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/connection.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "transport/tcp/meeting.hpp"
#include "transport/tcp/test_peers.hpp"

namespace glean::transport {
namespace {

// Peer 0 of two keeps to the protocol until it has met peer 1.
struct Rogue {
  Rogue() {
    const auto key = make_tcp_key();
    TcpDoor door, other_door;
    const std::string reached = other_door.addresses();
    auto other = std::async(std::launch::async, [&, addresses = door.addresses()] {
      return make_tcp_messages(std::move(other_door), 1, 2, {{0, addresses}}, key, long_enough);
    });
    Wakeups wakeups;
    Meeting meeting(std::move(door), Party{.self = 0, .peers = 2, .key = key}, wakeups);
    meeting.expect(1, reached, long_enough);
    socket = std::move(meeting.hold().at(1).socket);
    messages = other.get();
  }
  // Numbers the frame, and sums it up.
  void say(FrameHeader header, std::span<const std::byte> payload = {}) {
    if (header.kind != FrameHeader::Kind::received) header.sequence = sequence++;
    say_as_it_is(header, payload);
  }
  void say_as_it_is(const FrameHeader& header, std::span<const std::byte> payload = {}) {
    writer.begin(header, payload);
    while (writer.is_busy()) ASSERT_EQ(writer.write_to(socket).error, 0);
  }
  std::uint64_t sequence = 0;
  FrameWriter writer;
  Socket socket;
  std::unique_ptr<Messages> messages;
};

constexpr auto not_understood = "the connection to node 0 is lost: it sends what cannot be understood";

TEST(TcpConnection, EndsAtWhatCannotBeUnderstood) {
  using Kind = FrameHeader::Kind;
  const FrameHeader wrong[] = {
      {.kind = Kind{}},
      {.kind = Kind{9}},
      {.kind = Kind::head, .zero = {1, 0, 0}},
      {.kind = Kind::head, .head_bytes = head_bytes_max + 1},
      {.kind = Kind::head, .head_bytes = ~0u},
      {.kind = Kind::introduction, .head_bytes = addresses_bytes_max + 1},
      {.kind = Kind::go, .body_bytes = 1},                    // nothing was offered
      {.kind = Kind::body, .body_bytes = 1},                  // nothing was asked for
      {.kind = Kind::body, .body_bytes = ~0ull},
      {.kind = Kind::head, .received = 1},                    // nothing was sent
      {.kind = Kind::received, .head_bytes = 1},
      {.kind = Kind::farewell, .body_bytes = 1},
  };
  for (const FrameHeader& header : wrong) {
    Rogue rogue;
    rogue.say({.kind = Kind::head, .head_bytes = 4}, bytes_of("good"));
    rogue.say(header);

    EXPECT_EQ(text_of(next_arrival(*rogue.messages).head), "good");
    EXPECT_STREQ(next_error(*rogue.messages).what(), not_understood);
    EXPECT_STREQ(next_error(*rogue.messages).what(), not_understood);
  }
}

TEST(TcpConnection, EndsAtBodiesOfAnotherLengthThanExpected) {
  Rogue rogue;
  rogue.say({.kind = FrameHeader::Kind::head, .body_bytes = ~0ull});
  static_cast<void>(next_arrival(*rogue.messages));
  std::vector<std::byte> target(100);
  rogue.messages->receive_body(0, target, 1);

  EXPECT_STREQ(next_error(*rogue.messages).what(),
               "the connection to node 0 is lost: it offers a body of 18446744073709551615 bytes where 100 are expected");
  EXPECT_TRUE(rogue.messages->completed().empty());
}

TEST(TcpConnection, EndsAtBodiesThatAreNotAsOffered) {
  Rogue rogue;
  rogue.say({.kind = FrameHeader::Kind::head, .body_bytes = 100});
  static_cast<void>(next_arrival(*rogue.messages));
  std::vector<std::byte> target(100);
  rogue.messages->receive_body(0, target, 1);
  rogue.say({.kind = FrameHeader::Kind::body, .body_bytes = 101});

  EXPECT_STREQ(next_error(*rogue.messages).what(), not_understood);
}

TEST(TcpConnection, EndsWhenItIsAskedForAnotherLength) {
  Rogue rogue;
  const std::vector<std::byte> body(100);
  rogue.messages->send(0, bytes_of("body"), body, 1);
  rogue.say({.kind = FrameHeader::Kind::go, .body_bytes = 99});

  EXPECT_STREQ(next_error(*rogue.messages).what(), not_understood);
  EXPECT_EQ(rogue.messages->completed(), std::vector<Messages::Token>{1});
}

TEST(TcpConnection, LeavesHeadsThatAreNotTakenWithTheSender) {
  Rogue rogue;
  const std::vector<std::byte> head(64 * base::KiB);
  std::size_t frames = 0, stuck = 0;
  while (stuck < 1000 && frames < base::GiB / head.size()) {   // far more than the kernel and 16 MiB of the library take
    if (!rogue.writer.is_busy()) {
      const auto bytes = static_cast<std::uint32_t>(head.size());
      rogue.writer.begin({.kind = FrameHeader::Kind::head, .head_bytes = bytes, .sequence = rogue.sequence++}, head);
    }
    const Moved moved = rogue.writer.write_to(rogue.socket);
    ASSERT_EQ(moved.error, 0);
    if (!rogue.writer.is_busy()) ++frames;
    stuck = moved.bytes == 0 ? stuck + 1 : 0;
    static_cast<void>(rogue.messages->completed());
  }

  EXPECT_LT(frames, base::GiB / head.size());
  for (std::size_t i = 0; i < frames; ++i) EXPECT_EQ(next_arrival(*rogue.messages).head.size(), head.size());
}

}  // namespace
}  // namespace glean::transport
