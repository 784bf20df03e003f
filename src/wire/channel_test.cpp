// SPDX-License-Identifier: BSD-3-Clause
#include "wire/channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "wire/test_bytes.hpp"

namespace glean::wire {
namespace {

constexpr std::size_t most = 1000;

// All that comes of these bytes, given in pieces.
std::vector<std::string> give(Channel& to, const ByteVector& bytes, std::size_t piece_bytes = 1 << 20) {
  std::vector<std::string> messages;
  std::span<const std::byte> left = bytes;
  while (!left.empty()) {
    auto piece = left.first(std::min(piece_bytes, left.size()));
    left = left.subspan(piece.size());
    while (const auto message = to.receive(piece)) messages.push_back(text_of(*message));
  }
  return messages;
}

base::Error refusal(Channel& to, const ByteVector& bytes) {
  return error_of([&] { return give(to, bytes); });
}

struct Pair {
  explicit Pair(std::size_t piece_bytes = 1 << 20) {
    give(accepting, connecting.take_output(), piece_bytes);
    give(connecting, accepting.take_output(), piece_bytes);
    last_proof = connecting.take_output();
    give(accepting, last_proof, piece_bytes);
    EXPECT_FALSE(connecting.is_open());
    give(connecting, accepting.take_output(), piece_bytes);
  }
  Key key = make_key();
  Channel connecting{Side::connects, key, most}, accepting{Side::accepts, key, most};
  ByteVector last_proof;
};

ByteVector sealed(Channel& by, const std::string& text) {
  by.send(bytes_of(text));
  return by.take_output();
}

TEST(Channel, CarriesMessagesWhenBothHaveProved) {
  for (const std::size_t piece_bytes : {1, 3, 1 << 20}) {
    Pair pair(piece_bytes);
    ASSERT_TRUE(pair.connecting.is_open());
    ASSERT_TRUE(pair.accepting.is_open());
    auto bytes = sealed(pair.connecting, "status");
    const auto more = sealed(pair.connecting, std::string(most, 'x'));
    bytes.insert(bytes.end(), more.begin(), more.end());
    EXPECT_EQ(give(pair.accepting, bytes, piece_bytes), (std::vector<std::string>{"status", std::string(most, 'x')}));
    EXPECT_EQ(give(pair.connecting, sealed(pair.accepting, ""), piece_bytes), std::vector<std::string>{""});
    EXPECT_EQ(error_of([&] { return sealed(pair.connecting, std::string(most + 1, 'x')); }).code(), base::Errc::invalid_argument);
  }
}

TEST(Channel, HidesWhatItCarries) {
  Pair pair;
  const std::string text = "the name of an unpublished file";
  const auto bytes = sealed(pair.connecting, text);
  const auto plain = bytes_of(text);
  EXPECT_EQ(std::search(bytes.begin(), bytes.end(), plain.begin(), plain.end()), bytes.end());
}

TEST(Channel, KnowsAnotherKeyOnEitherSide) {
  Channel connecting(Side::connects, make_key(), most), accepting(Side::accepts, make_key(), most);
  give(accepting, connecting.take_output());
  EXPECT_EQ(refusal(connecting, accepting.take_output()).code(), base::Errc::permission);
  EXPECT_FALSE(connecting.is_open());
  EXPECT_TRUE(connecting.take_output().empty());   // it proves nothing to such a side

  ByteVector no_proof;
  append_frame(no_proof, 3, ByteVector(32));
  EXPECT_EQ(refusal(accepting, no_proof).code(), base::Errc::permission);
  EXPECT_FALSE(accepting.is_open());
  EXPECT_EQ(refusal(accepting, no_proof).code(), base::Errc::invalid_state);
}

TEST(Channel, IsNotOpenedByARecording) {
  const Key key = make_key();
  Channel connecting(Side::connects, key, most), accepting(Side::accepts, key, most);
  const auto hello = connecting.take_output();
  give(accepting, hello);
  const auto answer = accepting.take_output();
  give(connecting, answer);
  const auto proof = connecting.take_output();
  give(accepting, proof);
  give(connecting, accepting.take_output());
  const auto request = sealed(connecting, "remove all");
  ASSERT_TRUE(accepting.is_open());

  Channel again(Side::accepts, key, most);
  give(again, hello);
  EXPECT_EQ(refusal(again, proof).code(), base::Errc::permission);
  Channel other(Side::connects, key, most);
  EXPECT_EQ(refusal(other, answer).code(), base::Errc::permission);
  // Nor does a message of one connection count on another, or twice.
  Pair pair;
  EXPECT_EQ(refusal(pair.accepting, request).code(), base::Errc::io);
  EXPECT_EQ(give(accepting, request), std::vector<std::string>{"remove all"});
  EXPECT_EQ(refusal(accepting, request).code(), base::Errc::io);
}

TEST(Channel, IsNotOpenedByAReflection) {
  const Key key = make_key();
  Channel connecting(Side::connects, key, most);
  const auto hello = connecting.take_output();
  EXPECT_EQ(refusal(connecting, hello).code(), base::Errc::io);

  // An accepting side of the same key is made to answer the reflected hello: its proof is of the other pair of hellos.
  Channel accepting(Side::accepts, key, most);
  give(accepting, hello);
  const auto answer = accepting.take_output();
  constexpr std::size_t header = sizeof(FrameHeader), record = 48;
  ByteVector lie(hello.begin() + header, hello.begin() + header + record);
  lie.insert(lie.end(), answer.begin() + header + record, answer.end());
  ByteVector reflected;
  append_frame(reflected, 2, lie);
  Channel same(Side::connects, key, most);
  EXPECT_EQ(refusal(same, reflected).code(), base::Errc::permission);

  Pair pair;
  EXPECT_EQ(refusal(pair.connecting, sealed(pair.connecting, "status")).code(), base::Errc::io);
}

TEST(Channel, EndsWhenAMessageIsChangedOrMissing) {
  const auto good_checksum = [](ByteVector payload) {
    ByteVector bytes;
    append_frame(bytes, 4, payload);
    return bytes;
  };
  Pair pair;
  const auto length = sealed(pair.connecting, "status").size();
  for (std::size_t at = 0; at < length; ++at) {
    Pair each;
    auto bytes = sealed(each.connecting, "status");
    if (at < sizeof(FrameHeader)) {
      bytes[at] ^= std::byte{1};
      bytes.resize(bytes.size() + most);
    } else {   // by an attacker that makes the checksum right again
      bytes[at] ^= std::byte{1};
      bytes = good_checksum({bytes.begin() + sizeof(FrameHeader), bytes.end()});
    }
    EXPECT_EQ(refusal(each.accepting, bytes).code(), base::Errc::io) << "byte " << at;
  }
  Pair other;
  const auto left_out = sealed(other.connecting, "first");
  EXPECT_EQ(refusal(other.accepting, sealed(other.connecting, "second")).code(), base::Errc::io);
  EXPECT_EQ(refusal(pair.accepting, good_checksum(ByteVector(3))).code(), base::Errc::io);
}

TEST(Channel, TakesLittleOfAStranger) {
  Channel accepting(Side::accepts, make_key(), 1 << 20);
  const FrameHeader header{frame_mark, frame_version, 4, 0, 1 << 20, 0};
  const auto announced = std::as_bytes(std::span(&header, 1));
  const auto error = refusal(accepting, {announced.begin(), announced.end()});
  EXPECT_STREQ(error.what(), "the other side announces a frame of 1048576 bytes where at most 48 are taken");
  EXPECT_LE(accepting.allocated_bytes(), 256u);
  EXPECT_EQ(error_of([&] { return sealed(accepting, "x"); }).code(), base::Errc::invalid_state);
}

TEST(Channel, TellsASideOfAnotherVersion) {
  Channel connecting(Side::connects, make_key(), most), accepting(Side::accepts, make_key(), most);
  const auto hello = connecting.take_output();
  ByteVector record(hello.begin() + sizeof(FrameHeader), hello.end());
  record[8] = std::byte{9};
  ByteVector newer;
  append_frame(newer, 1, record);
  EXPECT_STREQ(refusal(accepting, newer).what(), "the other side speaks version 9 of the protocol, this one version 1");
  EXPECT_TRUE(accepting.has_output());   // so that the newer side can say the same
}

}  // namespace
}  // namespace glean::wire
