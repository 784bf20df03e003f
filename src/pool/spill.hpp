// SPDX-License-Identifier: BSD-3-Clause
//
// Spill files: where a rank's captured data goes when the pool is full, in a node-local directory with a byte budget of its
// own. The format is described in docs/formats/spill.md.
#pragma once

#include <string>
#include <vector>

#include "pool/pool.hpp"

namespace glean::pool {

inline constexpr std::array<char, 8> spill_magic = {'G', 'L', 'E', 'A', 'N', 'S', 'P', '1'};
inline constexpr std::array<char, 8> spill_block_magic = {'G', 'L', 'E', 'A', 'N', 'B', 'L', '1'};
inline constexpr Bytes spill_alignment = 4096;   // of blocks

// The first spill_alignment bytes of a file; the rest of them is zero.
struct SpillFileHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t rank;               // of the node; a stager has no ranks, and its number is 0
  std::array<char, 128> pool;       // whose it is
  std::uint64_t checksum;           // XXH3 of all before
};

// Before each payload, which follows at once; both together are padded to spill_alignment.
struct SpillBlock {
  std::array<char, 8> magic;
  std::uint64_t sequence;           // of the rank, from 0
  Bytes payload_bytes;
  std::uint64_t payload_checksum;   // XXH3
  // As in the record that leads here.
  std::uint32_t slot;
  std::uint32_t generation;
  std::uint64_t step;
  std::uint64_t first_element;
  std::uint32_t variable;
  std::uint32_t rank;
  std::uint64_t reserved[7];
  std::uint64_t checksum;           // XXH3 of all before
};
static_assert(sizeof(SpillBlock) == 128);

// What stands in `checksum`.
[[nodiscard]] std::uint64_t checksum_of(const SpillFileHeader& header);
[[nodiscard]] std::uint64_t checksum_of(const SpillBlock& block);

// What a payload takes in the file.
[[nodiscard]] constexpr Bytes spill_bytes(Bytes payload_bytes) {
  return base::align_up(sizeof(SpillBlock) + payload_bytes, spill_alignment);
}

// Takes `bytes` from the node's budget for spilling; false: there are not so many left. Any process.
[[nodiscard]] bool take_spill_budget(PoolHeader& header, Bytes bytes);
void return_spill_budget(PoolHeader& header, Bytes bytes);

// The path of a rank's spill file, or of that of a stager (0), whether it is there or not; empty: the pool has nowhere to spill.
[[nodiscard]] std::string spill_path(const Pool& pool, int rank);

struct SpillFile {
  int rank = 0;
  std::string path;
  Bytes stored_bytes = 0;   // what it takes of the storage
};
// Those that are there. Local, a few system calls.
[[nodiscard]] std::vector<SpillFile> spill_files(const Pool& pool);
// Pool::remove() does it.
void remove_spill_files(const Pool& pool) noexcept;

}  // namespace glean::pool
