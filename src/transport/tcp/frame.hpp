// SPDX-License-Identifier: BSD-3-Clause
//
// What goes over one connection: frames with checksums, as docs/formats/tcp.md has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "transport/tcp/socket.hpp"

namespace glean::transport {

using base::Bytes;

struct FrameHeader {
  enum class Kind : std::uint8_t { head = 1, go = 2, body = 3, introduction = 4, received = 5, farewell = 6 };
  Kind kind{};
  std::array<std::uint8_t, 3> zero{};
  std::uint32_t head_bytes = 0;
  std::uint64_t body_bytes = 0;   // of an introduction: which node wants a connection with which, see Introduction::pair()
  std::uint64_t sequence = 0;     // of this frame among those of its direction; 0 of `received`, which has none
  std::uint64_t received = 0;     // how many frames the sender has received
  std::uint64_t checksum = 0;     // of all before
};
static_assert(sizeof(FrameHeader) == 40);

inline constexpr Bytes head_bytes_max = 64 * base::KiB, addresses_bytes_max = 1000;

[[nodiscard]] std::uint64_t checksum_of(const FrameHeader& header);

// Of a payload, piece by piece; seeded with the checksum of its header.
class PayloadChecksum {
 public:
  PayloadChecksum();
  ~PayloadChecksum();
  PayloadChecksum(const PayloadChecksum&) = delete;
  PayloadChecksum& operator=(const PayloadChecksum&) = delete;
  void begin(const FrameHeader& header);
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How much of a payload is summed and moved at once: it stays in the cache in between.
inline constexpr Bytes piece_bytes = 512 * base::KiB;

// Hands one frame after the other on to the kernel: the header, the payload from where it lies, and its checksum.
class FrameWriter {
 public:
  // The payload must stay until the frame is written, or given up.
  void begin(FrameHeader header, std::span<const std::byte> payload);
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  [[nodiscard]] bool has_begun() const { return is_busy_ && sent_ != 0; }   // the other side has a part of it, perhaps
  [[nodiscard]] Moved write_to(const Socket& socket);
  void give_up() { is_busy_ = false; }

 private:
  FrameHeader header_;
  std::span<const std::byte> payload_;
  PayloadChecksum checksum_;
  std::uint64_t trailer_ = 0;
  std::size_t summed_ = 0, sent_ = 0;
  bool is_busy_ = false;
};

}  // namespace glean::transport
