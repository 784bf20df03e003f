// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/write_part.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace glean::store {

namespace {

// The kernel writes at most 2 GiB less one page in one call; this keeps direct writes in whole blocks.
constexpr Bytes largest_write = base::GiB;

// An interrupted write is tried again this often without progress before it counts as failed.
constexpr int attempts_max = 1000;

}  // namespace

std::size_t WritePart::size() const { return std::min<std::size_t>(data_.size(), largest_write); }

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

  auto written = std::min<Bytes>(static_cast<Bytes>(result), data_.size());
  // Direct writes start at block boundaries only: the rest of a block is written again.
  if (kind_ == Kind::direct && written < data_.size()) written = base::align_down(written, file_->block_bytes());
  if (written == 0) {
    kind_ = Kind::buffered;
    return retry(EIO);
  }
  count(written, counters);
  attempts_ = 0;
  data_ = data_.subspan(written);
  offset_ += written;
  return data_.empty() ? Next::done : Next::write;
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
    if (begin == end) return;
    parts.part[parts.count++] = WritePart(
        *request.file, kind, request.data.subspan(begin - request.offset, end - begin), begin);
  };

  const Bytes block = request.file->block_bytes();
  const Bytes begin = request.offset, end = begin + request.data.size();
  const Bytes first_block = base::align_up(begin, block), last_block = base::align_down(end, block);
  const auto address = static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(request.data.data()));
  const bool direct = !request.through_cache && request.file->direct_descriptor() >= 0 && first_block < last_block &&
                      address % block == begin % block;
  if (!direct) {
    add(WritePart::Kind::buffered, begin, end);
    return parts;
  }
  add(WritePart::Kind::buffered, begin, first_block);
  add(WritePart::Kind::direct, first_block, last_block);
  add(WritePart::Kind::buffered, last_block, end);
  return parts;
}

}  // namespace glean::store
