// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/hdf5/superblock.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace glean::store {
namespace {

constexpr std::array<std::uint8_t, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t most = 64;   // bytes that are looked at

// The file's own addresses have 2, 4 or 8 bytes.
std::optional<base::Bytes> address(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  if (size != 2 && size != 4 && size != 8) return std::nullopt;
  if (offset + size > bytes.size()) return std::nullopt;
  base::Bytes value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<base::Bytes>(bytes[offset + i]);
  return value;
}

std::optional<Hdf5Superblock> parse(std::span<const std::byte> bytes, base::Bytes begin) {
  constexpr std::size_t version_at = 8, old_sizes_at = 13, new_sizes_at = 9;
  if (bytes.size() <= old_sizes_at) return std::nullopt;
  const auto version = std::to_integer<unsigned>(bytes[version_at]);
  if (version > 3) return std::nullopt;
  const bool is_old = version < 2;
  const std::size_t size = std::to_integer<std::size_t>(bytes[is_old ? old_sizes_at : new_sizes_at]);
  // Behind the sizes, and what version 0 and 1 say of trees: the base, one address more, and the end.
  const std::size_t base_at = version == 0 ? 24 : version == 1 ? 28 : 12;
  const auto base = address(bytes, base_at, size), end = address(bytes, base_at + 2 * size, size);
  if (!base || !end) return std::nullopt;
  return Hdf5Superblock{begin, *end + (begin - *base)};   // where something was put in front later, the base is the one before
}

}  // namespace

std::optional<Hdf5Superblock> find_hdf5_superblock(const InputFile& file) {
  constexpr base::Bytes first_step = 512;
  const base::Bytes bytes = file.bytes();
  for (base::Bytes begin = 0; begin < bytes; begin = begin == 0 ? first_step : 2 * begin) {
    std::array<std::byte, most> found{};
    const std::size_t count = file.read(found, begin);
    const auto is_same = [](std::byte there, std::uint8_t expected) { return std::to_integer<std::uint8_t>(there) == expected; };
    if (count < signature.size() || !std::equal(found.begin(), found.begin() + signature.size(), signature.begin(), is_same)) continue;
    return parse(std::span(found).first(count), begin);
  }
  return std::nullopt;
}

}  // namespace glean::store
