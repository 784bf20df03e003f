// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/write_part.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace glean::store {

namespace {

// The kernel writes at most 2 GiB less one page in one call; this keeps direct writes in whole blocks.
constexpr Bytes largest_write = base::GiB;
constexpr std::size_t most_segments = IOV_MAX;   // in one call, too

// An interrupted write is tried again this often without progress before it counts as failed.
constexpr int attempts_max = 1000;

bool can_go_direct(const WriteRequest& request) {
  const Bytes block = request.file->block_bytes();
  if (request.through_cache || request.file->direct_descriptor() < 0) return false;
  Bytes at = request.offset;
  for (const auto& segment : request.segments) {
    const auto address = static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(segment.data()));
    if (address % block != at % block || (at != request.offset && at % block != 0)) return false;
    at += segment.size();
  }
  return true;
}

std::vector<std::span<const std::byte>> segments_between(const WriteRequest& request, Bytes begin, Bytes end) {
  std::vector<std::span<const std::byte>> inside;
  Bytes at = request.offset;
  for (const auto& segment : request.segments) {
    const Bytes first = std::max(at, begin), last = std::min(at + segment.size(), end);
    if (first < last) inside.push_back(segment.subspan(first - at, last - first));
    at += segment.size();
  }
  return inside;
}

}  // namespace

WritePart::WritePart(File& file, Kind kind, std::span<const std::span<const std::byte>> segments, Bytes offset)
    : file_(&file), kind_(kind), offset_(offset) {
  for (std::span<const std::byte> segment : segments) {
    while (!segment.empty()) {
      const auto piece = segment.first(std::min<std::size_t>(segment.size(), largest_write));
      segments_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});   // pwritev() does not change it
      segment = segment.subspan(piece.size());
    }
  }
}

std::span<const iovec> WritePart::segments() const {
  std::size_t count = 0;
  Bytes bytes = 0;
  for (std::size_t i = first_; i < segments_.size() && count < most_segments; ++i, ++count) {
    bytes += segments_[i].iov_len;
    if (bytes > largest_write) break;
  }
  return {segments_.data() + first_, count};
}

std::size_t WritePart::size() const { return bytes_of(segments()); }

WritePart::Next WritePart::advance(ssize_t result, WriteCounters& counters) {
  if (result == -EINTR || result == -EAGAIN) return retry(static_cast<int>(-result));
  if (result == -EINVAL && kind_ == Kind::direct) {
    kind_ = Kind::buffered;
    return Next::write;
  }
  if (result < 0) {
    error_ = static_cast<int>(-result);
    return Next::failed;
  }

  const Bytes asked = size();
  auto written = std::min<Bytes>(static_cast<Bytes>(result), asked);
  // Direct writes start at block boundaries only: the rest of a block is written again.
  if (kind_ == Kind::direct && written < asked) written = base::align_down(written, file_->block_bytes());
  if (written == 0) {
    kind_ = Kind::buffered;
    return retry(EIO);
  }
  count(written, counters);
  attempts_ = 0;
  offset_ += written;
  while (first_ < segments_.size() && written >= segments_[first_].iov_len) written -= segments_[first_++].iov_len;
  if (first_ == segments_.size()) return Next::done;
  iovec& segment = segments_[first_];
  segment = {static_cast<std::byte*>(segment.iov_base) + written, segment.iov_len - written};
  return Next::write;
}

WritePart::Next WritePart::retry(int error) {
  if (++attempts_ < attempts_max) return Next::write;
  error_ = error;
  return Next::failed;
}

void WritePart::count(Bytes bytes, WriteCounters& counters) const {
  (kind_ == Kind::direct ? counters.direct_requests : counters.buffered_requests) += 1;
  (kind_ == Kind::direct ? counters.direct_bytes : counters.buffered_bytes) += bytes;
}

WriteParts split(const WriteRequest& request) {
  WriteParts parts;
  const auto add = [&](WritePart::Kind kind, Bytes begin, Bytes end) {
    if (begin != end) parts.part[parts.count++] = WritePart(*request.file, kind, segments_between(request, begin, end), begin);
  };

  const Bytes block = request.file->block_bytes();
  const Bytes begin = request.offset, end = begin + request.size();
  const Bytes first_block = base::align_up(begin, block), last_block = base::align_down(end, block);
  if (first_block >= last_block || !can_go_direct(request)) {
    add(WritePart::Kind::buffered, begin, end);
    return parts;
  }
  add(WritePart::Kind::buffered, begin, first_block);
  add(WritePart::Kind::direct, first_block, last_block);
  add(WritePart::Kind::buffered, last_block, end);
  return parts;
}

}  // namespace glean::store
