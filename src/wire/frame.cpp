// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace glean::wire {
namespace {

static_assert(std::endian::native == std::endian::little);   // headers go as they lie in memory

std::uint64_t checksum_of(const FrameHeader& header, std::span<const std::byte> payload) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), XXH3_64bits(&header, offsetof(FrameHeader, checksum)));
}

[[noreturn]] void refuse(const std::string& why) { throw base::Error(base::Errc::io, why); }

}  // namespace

FrameHeader header_of(std::uint8_t kind, std::span<const std::byte> payload) {
  if (payload.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("a frame cannot have {} bytes", payload.size()));
  }
  FrameHeader header{frame_mark, frame_version, kind, 0, static_cast<std::uint32_t>(payload.size()), 0};
  header.checksum = checksum_of(header, payload);
  return header;
}

void append_frame(std::vector<std::byte>& bytes, std::uint8_t kind, std::span<const std::byte> payload) {
  const FrameHeader header = header_of(kind, payload);
  const auto head = std::as_bytes(std::span(&header, 1));
  bytes.insert(bytes.end(), head.begin(), head.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
}

std::optional<Frame> FrameDecoder::take(std::span<const std::byte>& bytes) {
  if (header_bytes_ < sizeof header_) {
    const std::size_t now = std::min(bytes.size(), sizeof header_ - header_bytes_);
    if (now == 0) return std::nullopt;
    std::memcpy(reinterpret_cast<std::byte*>(&header_) + header_bytes_, bytes.data(), now);
    bytes = bytes.subspan(now);
    header_bytes_ += now;
    // The first byte is enough to know a stranger that talks of something else.
    if (header_.mark != frame_mark) refuse("the other side speaks another protocol");
    if (header_bytes_ < sizeof header_) return std::nullopt;
    check_header();
  }
  const std::size_t now = std::min<std::size_t>(bytes.size(), header_.payload_bytes - payload_.size());
  payload_.insert(payload_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(now));
  bytes = bytes.subspan(now);
  if (payload_.size() < header_.payload_bytes) return std::nullopt;
  if (checksum_of(header_, payload_) != header_.checksum) refuse("a frame is damaged: its checksum is another one");
  header_bytes_ = 0;
  return Frame{header_.kind, std::exchange(payload_, {})};
}

void FrameDecoder::check_header() const {
  if (header_.version != frame_version) refuse(fmt::format("the other side sends frames of version {}", header_.version));
  if (header_.zero != 0) refuse("a frame is damaged: its header cannot be");
  if (header_.payload_bytes > payload_max_) {
    refuse(fmt::format("the other side announces a frame of {} bytes where at most {} are taken", header_.payload_bytes, payload_max_));
  }
}

}  // namespace glean::wire
