// SPDX-License-Identifier: BSD-3-Clause
#include "pool/leaked_chunks.hpp"

#include <vector>

#include "base/error.hpp"
#include "pool/description.hpp"
#include "pool/journal.hpp"

namespace glean::pool {

void free_leaked_chunks(Pool& pool) {
  std::vector<std::uint32_t> references(pool.header().chunk_count);
  const auto count_all = [&](const std::vector<std::uint32_t>& chunks) {
    for (const std::uint32_t chunk : chunks) ++references[chunk];
  };
  try {
    for (std::uint32_t index = 0; index < output_slots; ++index) {
      const OutputSlot& slot = pool.slot(index);
      if (slot.state.load() != OutputState::open) continue;
      const OutputKey key{index, slot.generation};
      count_all(read_description(pool, key).chunks);
      count_all(read_takeover_log(pool, key).chunks);
      count_all(read_meaning(pool, key).chunks);
    }
    for (int index = 0; index < static_cast<int>(pool.header().journals); ++index) {
      JournalReader journal(pool, index, JournalReader::Purpose::look);
      for (; const Record* record = journal.peek(); journal.advance()) {
        const bool holds = record->state == RecordState::live && record->place == PayloadPlace::pool;
        if (holds) ++references[pool.chunk_at(record->payload_offset)];
      }
    }
  } catch (const base::Error&) {
    return;
  }
  pool.count_chunks_anew(references);
}

void forget_killed_processes(Pool& pool) {
  free_leaked_chunks(pool);
  pool.header().waiting_for_space = 0;
  for (int journal = 0; journal < static_cast<int>(pool.header().journals); ++journal) {
    pool.journal(journal).is_full = 0;
    pool.journal(journal).held_write = 0;
  }
}

}  // namespace glean::pool
