// SPDX-License-Identifier: BSD-3-Clause
#include "pool/description.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace glean::pool {

DescriptionInPool read_description(const Pool& pool, const OutputKey& output) {
  const auto refuse = [] { throw base::Error(base::Errc::io, "damaged description of an output in the pool"); };
  DescriptionInPool description;
  std::vector<std::pair<DescriptionPart, const std::byte*>> parts;   // newest first
  for (Bytes at = pool.slot(output.slot).description.load(std::memory_order_acquire); at != 0;) {
    DescriptionPart part{};
    if (!pool.is_payload(at, sizeof part)) refuse();
    std::memcpy(&part, pool.at(at), sizeof part);
    // Positions only fall, so a chain of parts ends.
    const bool follows = parts.empty() || part.begin + part.bytes == parts.back().first.begin;
    if (part.slot != output.slot || part.generation != output.generation || part.bytes == 0 || !follows ||
        part.bytes > pool.header().chunk_bytes || !pool.is_payload(at, sizeof part + part.bytes) ||
        (part.previous_offset == 0) != (part.begin == 0)) {
      refuse();
    }
    parts.emplace_back(part, pool.at(at) + sizeof part);
    description.chunks.push_back(pool.chunk_at(at));
    at = part.previous_offset;
  }
  if (parts.empty()) return description;
  const DescriptionPart& newest = parts.front().first;
  description.complete = newest.total != 0 && newest.begin + newest.bytes >= newest.total;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    description.bytes.insert(description.bytes.end(), part->second, part->second + part->first.bytes);
  }
  return description;
}

void forget_description(Pool& pool, const OutputKey& output) {
  const DescriptionInPool description = read_description(pool, output);
  pool.slot(output.slot).description.store(0, std::memory_order_release);
  for (const std::uint32_t chunk : description.chunks) pool.drop_reference(chunk);
}

}  // namespace glean::pool
