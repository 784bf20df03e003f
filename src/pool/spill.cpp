// SPDX-License-Identifier: BSD-3-Clause
#include "pool/spill.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>

namespace glean::pool {

std::uint64_t checksum_of(const SpillFileHeader& header) { return XXH3_64bits(&header, offsetof(SpillFileHeader, checksum)); }
std::uint64_t checksum_of(const SpillBlock& block) { return XXH3_64bits(&block, offsetof(SpillBlock, checksum)); }

bool take_spill_budget(PoolHeader& header, Bytes bytes) {
  std::uint64_t used = header.spilled_bytes.load(std::memory_order_relaxed);
  do {
    if (used + bytes > header.spill_budget_bytes) return false;
  } while (!header.spilled_bytes.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::uint64_t high = header.spill_high_water_bytes.load(std::memory_order_relaxed);
  while (used + bytes > high &&
         !header.spill_high_water_bytes.compare_exchange_weak(high, used + bytes, std::memory_order_relaxed)) {}
  return true;
}

void return_spill_budget(PoolHeader& header, Bytes bytes) {
  header.spilled_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

std::string spill_path(const Pool& pool, int rank) {
  const auto& directory = pool.header().spill_directory;
  const std::size_t length = strnlen(directory.data(), directory.size());
  if (length == 0) return {};
  return std::string(directory.data(), length) + pool.name() + "." + std::to_string(rank) + ".spill";   // the name has a '/'
}

std::vector<SpillFile> spill_files(const Pool& pool) {
  std::vector<SpillFile> files;
  for (int rank = 0; rank < static_cast<int>(pool.header().journals); ++rank) {
    const std::string path = spill_path(pool, rank);
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) continue;
    files.push_back({rank, path, static_cast<Bytes>(status.st_blocks) * 512});
  }
  return files;
}

void remove_spill_files(const Pool& pool) noexcept {
  try {
    for (int rank = 0; rank < static_cast<int>(pool.header().journals); ++rank) {
      if (const std::string path = spill_path(pool, rank); !path.empty()) unlink(path.c_str());
    }
  } catch (const std::exception&) {   // no memory for a path: they stay
  }
}

}  // namespace glean::pool
