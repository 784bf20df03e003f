// SPDX-License-Identifier: BSD-3-Clause
//
// Frames: a header of 16 bytes and a payload, with a checksum over both. docs/formats/staging-control.md. Pure: no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace glean::wire {

struct FrameHeader {
  std::uint8_t mark = 0;                  // what every frame begins with
  std::uint8_t version = 0;               // of this form
  std::uint8_t kind = 0;                  // means what the two sides have agreed on
  std::uint8_t zero = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t checksum = 0;             // XXH3 of the payload, seeded with that of the 8 bytes before
};
static_assert(sizeof(FrameHeader) == 16);

inline constexpr std::uint8_t frame_mark = 0xc7, frame_version = 1;

struct Frame {
  std::uint8_t kind = 0;
  std::vector<std::byte> payload;
};

[[nodiscard]] FrameHeader header_of(std::uint8_t kind, std::span<const std::byte> payload);
void append_frame(std::vector<std::byte>& bytes, std::uint8_t kind, std::span<const std::byte> payload);

// Takes frames out of bytes that come in any pieces. Memory grows with what has come, not with what is announced.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t payload_max) : payload_max_(payload_max) {}

  // Takes bytes off the front: those of one frame, which it then returns, or all. Throws base::Error(io) that says what is wrong with
  // them, before there is any payload if the header is; nothing can be read after that.
  [[nodiscard]] std::optional<Frame> take(std::span<const std::byte>& bytes);
  // From the next frame on.
  void set_payload_max(std::size_t bytes) { payload_max_ = bytes; }
  [[nodiscard]] std::size_t allocated_bytes() const { return payload_.capacity(); }   // for tests

 private:
  void check_header() const;

  std::size_t payload_max_;
  FrameHeader header_;
  std::size_t header_bytes_ = 0;   // that are there
  std::vector<std::byte> payload_;
};

}  // namespace glean::wire
