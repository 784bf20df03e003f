// SPDX-License-Identifier: BSD-3-Clause
#include "pool/description.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.hpp"

namespace glean::pool {

namespace {

// What the parts from `newest` on say; nothing when they are no description of this output.
std::optional<DescriptionInPool> read_parts(const Pool& pool, const OutputKey& output, Bytes newest) {
  DescriptionInPool description;
  std::vector<std::pair<DescriptionPart, const std::byte*>> parts;   // newest first
  for (Bytes at = newest; at != 0;) {
    DescriptionPart part{};
    if (!pool.is_payload(at, sizeof part)) return std::nullopt;
    std::memcpy(&part, pool.at(at), sizeof part);
    // Positions only fall, so a chain of parts ends.
    const bool follows = parts.empty() || part.begin + part.bytes == parts.back().first.begin;
    if (part.slot != output.slot || part.generation != output.generation || part.bytes == 0 || !follows ||
        part.begin > pool.header().pool_bytes ||
        part.bytes > pool.header().chunk_bytes || !pool.is_payload(at, sizeof part + part.bytes) ||
        (part.previous_offset == 0) != (part.begin == 0)) {
      return std::nullopt;
    }
    parts.emplace_back(part, pool.at(at) + sizeof part);
    description.chunks.push_back(pool.chunk_at(at));
    at = part.previous_offset;
  }
  if (parts.empty()) return description;
  const DescriptionPart& last = parts.front().first;
  description.complete = last.total != 0 && last.begin + last.bytes >= last.total;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    description.bytes.insert(description.bytes.end(), part->second, part->second + part->first.bytes);
  }
  return description;
}

}  // namespace

DescriptionInPool read_description(const Pool& pool, const OutputKey& output) {
  const OutputSlot& slot = pool.slot(output.slot);
  for (;;) {
    const Bytes newest = slot.description.load(std::memory_order_acquire);
    auto description = read_parts(pool, output, newest);
    // Its rank may have given it up, and the chunks may be another's by now: look whether it is still there.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.generation.load(std::memory_order_relaxed) != output.generation) return {};
    if (slot.description.load(std::memory_order_relaxed) != newest) continue;
    if (!description) throw base::Error(base::Errc::io, "damaged description of an output in the pool");
    return *std::move(description);
  }
}

DescriptionInPool read_takeover_log(const Pool& pool, const OutputKey& output) {
  auto kept = read_parts(pool, output, pool.slot(output.slot).steps.takeover_log.load(std::memory_order_acquire));
  if (!kept || (!kept->chunks.empty() && !kept->complete)) {
    throw base::Error(base::Errc::io, "the takeover log of an output is damaged");
  }
  return *std::move(kept);
}

std::optional<UnpublishedParts> write_parts(Pool& pool, const OutputKey& output, std::span<const std::byte> bytes) {
  UnpublishedParts parts;
  for (Bytes done = 0; done < bytes.size();) {
    const auto chunk = pool.take_chunk();
    if (!chunk) {
      for (const std::uint32_t taken : parts.chunks) pool.drop_reference(taken);
      return std::nullopt;
    }
    parts.chunks.push_back(*chunk);
    const Bytes here = std::min<Bytes>(bytes.size() - done, pool.header().chunk_bytes - sizeof(DescriptionPart));
    const DescriptionPart part{.slot = output.slot,
                               .generation = output.generation,
                               .previous_offset = parts.newest,
                               .begin = done,
                               .bytes = here,
                               .total = bytes.size()};
    parts.newest = pool.offset_of_chunk(*chunk);
    std::memcpy(pool.at(parts.newest), &part, sizeof part);
    std::memcpy(pool.at(parts.newest) + sizeof part, bytes.data() + done, here);
    done += here;
  }
  return parts;
}

DescriptionInPool read_meaning(const Pool& pool, const OutputKey& output) {
  auto meaning = read_parts(pool, output, pool.slot(output.slot).writes.meaning.load(std::memory_order_acquire));
  if (!meaning || !meaning->complete) return {};
  return *std::move(meaning);
}

bool claim_meaning(Pool& pool, const OutputKey& output, std::uint32_t count) {
  auto& claimed = pool.slot(output.slot).writes.meanings_claimed;
  std::uint32_t before = claimed.load(std::memory_order_relaxed);
  do {
    if (before >= count) return false;
  } while (!claimed.compare_exchange_weak(before, count));
  return true;
}

void say_meaning(Pool& pool, const OutputKey& output, std::span<const std::byte> bytes) {
  // Ranks need the room more.
  const bool is_roomy = pool.header().used_chunks.load(std::memory_order_relaxed) < pool.header().chunk_count / 2;
  const auto parts = is_roomy ? write_parts(pool, output, bytes) : std::nullopt;
  const Bytes before = pool.slot(output.slot).writes.meaning.exchange(parts ? parts->newest : 0, std::memory_order_acq_rel);
  if (const auto said = read_parts(pool, output, before)) {
    for (const std::uint32_t chunk : said->chunks) pool.drop_reference(chunk);
  }
}

void forget_description(Pool& pool, const OutputKey& output) {
  const DescriptionInPool description = read_description(pool, output);
  pool.slot(output.slot).description.store(0, std::memory_order_release);
  for (const std::uint32_t chunk : description.chunks) pool.drop_reference(chunk);
}

}  // namespace glean::pool
