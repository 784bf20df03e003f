// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/task_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/units.hpp"
#include "store/container/chunk_trailer.hpp"

namespace glean::store {

TaskWriter::TaskWriter(const TaskChunks& chunks, std::uint64_t container_id, std::uint64_t rank)
    : chunks_(chunks), id_(container_id), rank_(rank) {
  if (chunks.capacity() > 0 && chunks.trailer_bytes == chunk_trailer_bytes) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("chunks of {} bytes have no room for data", chunks.chunk_bytes),
                    fmt::format("a chunk has more than {} bytes", chunk_trailer_bytes));
}

// A chunk ends with the byte that is behind it, or at the close, so that the trailer of the last chunk says that it is the last.
void TaskWriter::append(std::span<const std::byte> bytes, const Write& write) {
  while (!bytes.empty()) {
    if (is_ended_ || used_ == chunks_.capacity()) end_chunk(false, write);
    constexpr Bytes longest = std::numeric_limits<std::int64_t>::max();
    if (!chunks_.ends_before(ended_.size(), longest)) {
      throw base::Error(base::Errc::invalid_argument,
                        fmt::format("chunk {} of task {} lies behind the end of any file", ended_.size(), rank_),
                        "choose larger chunks");
    }
    const auto part = bytes.first(static_cast<std::size_t>(std::min<Bytes>(bytes.size(), free_in_chunk())));
    write(part, chunks_.begin_of(ended_.size()) + used_);
    sum_.add(part);
    used_ += part.size();
    bytes_ += part.size();
    bytes = bytes.subspan(part.size());
  }
}

void TaskWriter::ensure_free_space(Bytes bytes) {
  if (bytes > chunks_.capacity()) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("{} do not fit into a chunk, which has room for {}", base::readable_bytes(bytes),
                                  base::readable_bytes(chunks_.capacity())),
                      "choose larger chunks, or write without asking for the space");
  }
  is_ended_ = is_ended_ || bytes > free_in_chunk();
}

void TaskWriter::close(const Write& write) {
  if (used_ > 0) end_chunk(true, write);
}

std::vector<Bytes> TaskWriter::used() const {
  std::vector<Bytes> all = ended_;
  if (used_ > 0) all.push_back(used_);
  return all;
}

void TaskWriter::end_chunk(bool is_last, const Write& write) {
  const EncodedTrailer trailer = encode_chunk_trailer({id_, rank_, ended_.size(), used_, sum_.value(), is_last});
  write(trailer, chunks_.trailer_of(ended_.size()));
  ended_.push_back(used_);
  used_ = 0;
  is_ended_ = false;
  sum_ = StreamingSum();
}

}  // namespace glean::store
