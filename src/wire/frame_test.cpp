// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "wire/test_bytes.hpp"

namespace glean::wire {
namespace {

constexpr std::size_t payload_most = 1000;

ByteVector frame_of(std::uint8_t kind, const std::string& text) {
  ByteVector bytes;
  append_frame(bytes, kind, bytes_of(text));
  return bytes;
}

// Pieces of so many bytes, the first of `first`.
std::vector<Frame> decode(const ByteVector& bytes, std::size_t first, std::size_t others) {
  FrameDecoder decoder(payload_most);
  std::vector<Frame> frames;
  std::span<const std::byte> left = bytes;
  for (std::size_t size = first; !left.empty(); size = others) {
    auto piece = left.first(std::min(size, left.size()));
    left = left.subspan(piece.size());
    while (auto frame = decoder.take(piece)) frames.push_back(std::move(*frame));
    EXPECT_TRUE(piece.empty());
  }
  return frames;
}

TEST(Frame, ComesInAnyPieces) {
  ByteVector bytes = frame_of(1, "good day");
  for (const auto& next : {frame_of(2, ""), frame_of(255, std::string(100, 'x'))}) bytes.insert(bytes.end(), next.begin(), next.end());
  for (std::size_t first = 1; first <= bytes.size(); ++first) {
    for (const std::size_t others : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
      const auto frames = decode(bytes, first, others);
      ASSERT_EQ(frames.size(), 3u) << first << ' ' << others;
      EXPECT_EQ(frames[0].kind, 1);
      EXPECT_EQ(text_of(frames[0].payload), "good day");
      EXPECT_EQ(frames[1].kind, 2);
      EXPECT_TRUE(frames[1].payload.empty());
      EXPECT_EQ(frames[2].kind, 255);
      EXPECT_EQ(text_of(frames[2].payload), std::string(100, 'x'));
    }
  }
}

TEST(Frame, IsRefusedWithAnyByteChanged) {
  const ByteVector good = frame_of(1, "good day");
  for (std::size_t at = 0; at < good.size(); ++at) {
    ByteVector bytes = good;
    bytes[at] ^= std::byte{4};
    bytes.resize(bytes.size() + payload_most);   // should it be taken for a longer one
    const auto error = error_of([&] { return decode(bytes, bytes.size(), 1).size(); });
    EXPECT_EQ(error.code(), base::Errc::io) << "byte " << at;
  }
}

TEST(Frame, IsRefusedByItsHeader) {
  const auto refusal = [](FrameHeader header) {
    return std::string(error_of([&] {
      FrameDecoder decoder(payload_most);
      auto bytes = std::as_bytes(std::span(&header, 1));
      return decoder.take(bytes);
    }).what());
  };
  const ByteVector payload(payload_most);
  FrameHeader header = header_of(1, payload);
  EXPECT_EQ(refusal(header), "no error");
  header.payload_bytes = payload_most + 1;
  EXPECT_EQ(refusal(header), "the other side announces a frame of 1001 bytes where at most 1000 are taken");
  header = header_of(1, payload);
  header.version = 2;
  EXPECT_EQ(refusal(header), "the other side sends frames of version 2");
  std::memcpy(&header, "GET / HTTP/1.1\r\n", sizeof header);
  EXPECT_EQ(refusal(header), "the other side speaks another protocol");
}

TEST(Frame, TakesMemoryForWhatHasComeOnly) {
  constexpr std::size_t huge = 1 << 30;
  FrameDecoder decoder(huge);
  FrameHeader header{frame_mark, frame_version, 1, 0, huge, 0};
  auto bytes = std::as_bytes(std::span(&header, 1));
  EXPECT_FALSE(decoder.take(bytes));
  const ByteVector some(100);
  bytes = some;
  EXPECT_FALSE(decoder.take(bytes));
  EXPECT_LE(decoder.allocated_bytes(), 200u);
}

}  // namespace
}  // namespace glean::wire
