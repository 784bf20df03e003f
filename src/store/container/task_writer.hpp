// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of one task become positional writes into a container: the same for a serial program and for a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "store/container/chunks.hpp"
#include "store/sums/checksum.hpp"

namespace glean::store {

class TaskWriter {
 public:
  // Takes bytes to an offset of the physical file.
  using Write = std::function<void(std::span<const std::byte> bytes, Bytes offset)>;

  // `chunks` have room for a trailer and more. Throws invalid_argument otherwise.
  TaskWriter(const TaskChunks& chunks, std::uint64_t container_id, std::uint64_t rank);

  // Behind what was written before. A chunk that is full gets its trailer. Throws invalid_argument where a file cannot be so long, and what
  // `write` throws. Local.
  void append(std::span<const std::byte> bytes, const Write& write);
  // The next `bytes` bytes will be in one chunk: ends this one if they do not fit. Throws invalid_argument: they do not fit in any. Local.
  void ensure_free_space(Bytes bytes);
  // The last chunk gets its trailer, if the task has written anything. Nothing can be appended any more. Local.
  void close(const Write& write);

  // How many bytes of the task there are, and how many more the chunk has room for.
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] Bytes free_in_chunk() const { return is_ended_ ? chunks_.capacity() : chunks_.capacity() - used_; }
  // How many bytes each chunk has; the last one too.
  [[nodiscard]] std::vector<Bytes> used() const;

 private:
  void end_chunk(bool is_last, const Write& write);

  TaskChunks chunks_;
  std::uint64_t id_ = 0, rank_ = 0;
  std::vector<Bytes> ended_;
  Bytes used_ = 0;    // of the chunk that is being written
  bool is_ended_ = false;   // the chunk: the next byte is in another one
  Bytes bytes_ = 0;
  StreamingSum sum_;
};

}  // namespace glean::store
