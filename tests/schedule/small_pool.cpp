// SPDX-License-Identifier: BSD-3-Clause
#include "small_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "pool/futex.hpp"
#include "scheduler.hpp"

namespace glean::schedule {
namespace {

pool::Pool make_pool(int ranks, base::Bytes chunk_bytes, base::Bytes ring_bytes) {
  plan::NodePlan plan;
  plan.pool_bytes = 256 * base::KiB;
  plan.chunk_bytes = chunk_bytes;
  plan.journal_bytes_per_rank = sizeof(pool::Journal) + ring_bytes;
  static int count = 0;
  auto pool = pool::Pool::create("/glean-test." + std::to_string(getpid()) + "." + std::to_string(count++), plan, ranks);
  pool.remove();   // the mapping is all that is needed
  return pool;
}

}  // namespace

SmallPool::SmallPool(int ranks, std::uint32_t chunks, base::Bytes chunk_bytes, base::Bytes ring_bytes)
    : pool_(make_pool(ranks, chunk_bytes, ring_bytes)) {
  static_cast<void>(pool_.claim_drain());
  while (pool_.header().chunk_count - first_chunk_ > chunks) first_chunk_ = *pool_.take_chunk() + 1;
  const std::byte* begin = pool_.at(0);
  as_new_.assign(begin, begin + pool_.header().pool_bytes);
}

void SmallPool::reset() {
  // All but the payload, and the slots that no scenario uses: this is most of the time of a schedule.
  const pool::PoolHeader& header = pool_.header();
  const auto restore = [&](base::Bytes begin, base::Bytes end) {
    std::memcpy(pool_.at(begin), as_new_.data() + begin, end - begin);
  };
  restore(0, sizeof(pool::PoolHeader) + 64 + sizeof(pool::OutputSlot));
  restore(header.progress_offset, header.chunks_offset);
}

pool::ChunkState& SmallPool::state(std::uint32_t chunk) const {
  return reinterpret_cast<pool::ChunkState*>(pool_.at(pool_.header().chunk_states_offset))[chunk];
}

std::vector<std::uint32_t> SmallPool::free_chunks() const {
  std::vector<std::uint32_t> chunks;
  auto entry = static_cast<std::uint32_t>(pool_.header().free_chunks);
  while (entry != 0) {
    const std::uint32_t chunk = entry - 1;
    require(chunk >= first_chunk_ && chunk < chunk_count(), "the free stack leads to chunk " + std::to_string(chunk));
    require(std::find(chunks.begin(), chunks.end(), chunk) == chunks.end(),
            "chunk " + std::to_string(chunk) + " is on the free stack twice");
    require(state(chunk).references == 0, "chunk " + std::to_string(chunk) + " is free and has references");
    chunks.push_back(chunk);
    entry = state(chunk).next_free;
  }
  return chunks;
}

std::string SmallPool::name_of(const void* word) const {
  const pool::PoolHeader& header = pool_.header();
  const std::pair<const void*, const char*> words[] = {
      {&header.free_chunks, "free_chunks"}, {&header.used_chunks, "used_chunks"},
      {&header.high_water_chunks, "high_water_chunks"}, {&header.work, "work"}, {&header.space, "space"},
      {&header.waiting_for_space, "waiting_for_space"}, {&header.written_bytes, "written_bytes"}};
  for (const auto& [known, name] : words) {
    if (word == known) return name;
  }
  for (int rank = 0; rank < static_cast<int>(header.ranks); ++rank) {
    if (word == &pool_.journal(rank).head) return "head of " + std::to_string(rank);
    if (word == &pool_.journal(rank).tail) return "tail of " + std::to_string(rank);
  }
  for (std::uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    if (word == &state(chunk).references) return "references of chunk " + std::to_string(chunk);
    if (word == &state(chunk).next_free) return "next_free of chunk " + std::to_string(chunk);
  }
  return "byte " + std::to_string(static_cast<const std::byte*>(word) - pool_.at(0)) + " of the pool";
}

}  // namespace glean::schedule
