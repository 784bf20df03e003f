// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/frame.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <new>

namespace glean::transport {

static_assert(std::endian::native == std::endian::little);   // headers and checksums go as they lie in memory

std::uint64_t checksum_of(const FrameHeader& header) { return XXH3_64bits(&header, offsetof(FrameHeader, checksum)); }

struct PayloadChecksum::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  State() {
    if (xxh3 == nullptr) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(xxh3); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

PayloadChecksum::PayloadChecksum() : state_(std::make_unique<State>()) {}
PayloadChecksum::~PayloadChecksum() = default;

void PayloadChecksum::begin(const FrameHeader& header) { XXH3_64bits_reset_withSeed(state_->xxh3, header.checksum); }
void PayloadChecksum::add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_->xxh3, bytes.data(), bytes.size()); }
std::uint64_t PayloadChecksum::value() const { return XXH3_64bits_digest(state_->xxh3); }

void FrameWriter::begin(FrameHeader header, std::span<const std::byte> payload) {
  header_ = header;
  header_.checksum = checksum_of(header_);
  payload_ = payload;
  checksum_.begin(header_);
  summed_ = sent_ = 0;
  is_busy_ = true;
}

Moved FrameWriter::write_to(const Socket& socket) {
  const std::size_t end = sizeof header_ + payload_.size();
  const std::size_t of_payload = std::clamp(sent_, sizeof header_, end) - sizeof header_;
  if (summed_ == of_payload && summed_ < payload_.size()) {
    const auto piece = payload_.subspan(summed_, std::min<std::size_t>(piece_bytes, payload_.size() - summed_));
    checksum_.add(piece);
    summed_ += piece.size();
    if (summed_ == payload_.size()) trailer_ = checksum_.value();
  }
  const auto header = std::as_bytes(std::span(&header_, 1)), trailer = std::as_bytes(std::span(&trailer_, 1));
  const bool has_trailer = !payload_.empty() && summed_ == payload_.size();
  const Moved moved = send(socket, header.subspan(std::min(sent_, header.size())), payload_.subspan(of_payload, summed_ - of_payload),
                           has_trailer ? trailer.subspan(sent_ > end ? sent_ - end : 0) : std::span<const std::byte>());
  sent_ += moved.bytes;
  if (sent_ == end + (payload_.empty() ? 0 : sizeof trailer_)) is_busy_ = false;
  return moved;
}

}  // namespace glean::transport
