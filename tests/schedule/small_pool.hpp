// SPDX-License-Identifier: BSD-3-Clause
//
// A pool with few chunks and tiny journals that is as new for each schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pool/pool.hpp"

namespace glean::schedule {

class SmallPool {
 public:
  // Only the last `chunks` chunks are in play, the others are taken for good.
  SmallPool(int ranks, std::uint32_t chunks, base::Bytes chunk_bytes = 128, base::Bytes ring_bytes = 448);

  void reset();
  [[nodiscard]] pool::Pool& pool() { return pool_; }
  [[nodiscard]] std::uint32_t first_chunk() const { return first_chunk_; }
  [[nodiscard]] std::uint32_t chunk_count() const { return pool_.header().chunk_count; }
  [[nodiscard]] std::uint32_t used_chunks() const { return pool_.header().used_chunks - first_chunk_; }
  // Walks the free stack. Requires that it leads to chunks in play, to none twice, and that these have no reference.
  [[nodiscard]] std::vector<std::uint32_t> free_chunks() const;
  [[nodiscard]] std::string name_of(const void* word) const;

 private:
  [[nodiscard]] pool::ChunkState& state(std::uint32_t chunk) const;

  pool::Pool pool_;
  std::uint32_t first_chunk_ = 0;
  std::vector<std::byte> as_new_;
};

}  // namespace glean::schedule
