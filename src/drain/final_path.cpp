// SPDX-License-Identifier: BSD-3-Clause
#include "drain/final_path.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace glean::drain {
namespace {

using base::Bytes;

constexpr Bytes names_header_bytes = 16;   // of what OutputDescription::encode_names() makes

// Bytes of a description from `begin` on; false where they are not there.
bool read_described(const pool::Pool& pool, pool::OutputKey output, Bytes begin, std::span<char> into) {
  const Bytes end = begin + into.size();
  Bytes copied = 0, above = ~Bytes{0};
  for (Bytes at = pool.slot(output.slot).description.load(std::memory_order_acquire); at != 0;) {
    pool::DescriptionPart part{};
    if (!pool.is_payload(at, sizeof part)) return false;
    std::memcpy(&part, pool.at(at), sizeof part);
    // Positions only fall, so a chain of parts ends.
    if (part.slot != output.slot || part.generation != output.generation || part.begin >= above ||
        !pool.is_payload(at, sizeof part + part.bytes)) {
      return false;
    }
    const Bytes from = std::max(begin, part.begin), to = std::min(end, part.begin + part.bytes);
    if (from < to) {
      std::memcpy(into.data() + (from - begin), pool.at(at) + sizeof part + (from - part.begin), to - from);
      copied += to - from;
    }
    above = part.begin;
    at = part.previous_offset;
  }
  return copied == into.size();
}

bool read_length(const pool::Pool& pool, pool::OutputKey output, Bytes at, std::uint32_t& length) {
  return read_described(pool, output, at, {reinterpret_cast<char*>(&length), sizeof length});
}

}  // namespace

std::string_view final_path_of(const pool::Pool& pool, pool::OutputKey output, std::span<char> buffer) noexcept {
  Bytes at = names_header_bytes;
  std::uint32_t length = 0;
  for (int text = 0; text < 2; ++text) {   // as the program has said it, and the working path
    if (!read_length(pool, output, at, length)) return {};
    at += sizeof length + length;
  }
  if (!read_length(pool, output, at, length) || length == 0 || length > buffer.size()) return {};
  if (!read_described(pool, output, at + sizeof length, buffer.first(length))) return {};
  // Its chunks may be another output's by now: look whether it is still there.
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_it = pool.slot(output.slot).generation.load(std::memory_order_relaxed) == output.generation &&
                     pool.slot(output.slot).description.load(std::memory_order_relaxed) != 0;
  return is_it && buffer[0] == '/' ? std::string_view(buffer.data(), length) : std::string_view{};
}

}  // namespace glean::drain
