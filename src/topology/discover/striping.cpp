// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts as lustre_user.h describes them: lov_user_md_v1, lov_user_md_v3 and lov_comp_md_v1, little-endian and packed.
#include "topology/discover/striping.hpp"

#include <sys/xattr.h>

#include <cstdint>
#include <vector>

namespace glean::topology {
namespace {

constexpr std::uint64_t plain_v1 = 0x0BD10BD0, plain_v3 = 0x0BD30BD0, in_components = 0x0BD60BD0;
constexpr std::size_t plain_bytes = 32, head_bytes = 32, entry_bytes = 48;
constexpr int all_targets = 0xFFFF;

// The little-endian number of `width` bytes at `offset`; the caller has checked that it is there.
std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t offset, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
  return number;
}

std::optional<Striping> plain(std::span<const std::byte> layout) {
  if (layout.size() < plain_bytes) return std::nullopt;
  const std::uint64_t magic = number_at(layout, 0, 4);
  if (magic != plain_v1 && magic != plain_v3) return std::nullopt;
  const int count = static_cast<int>(number_at(layout, 28, 2));
  return Striping{.count = count == all_targets ? -1 : count, .bytes = number_at(layout, 24, 4)};
}

}  // namespace

std::optional<Striping> striping_of(std::span<const std::byte> attribute) {
  if (attribute.size() < head_bytes || number_at(attribute, 0, 4) != in_components) return plain(attribute);
  const std::size_t entries = number_at(attribute, 14, 2);
  if (entries == 0 || attribute.size() < head_bytes + entries * entry_bytes) return std::nullopt;
  const std::size_t offset = number_at(attribute, head_bytes + (entries - 1) * entry_bytes + 24, 4);
  return offset < attribute.size() ? plain(attribute.subspan(offset)) : std::nullopt;
}

std::optional<Striping> discover_striping(const std::string& path) {
  const ssize_t size = getxattr(path.c_str(), "lustre.lov", nullptr, 0);
  if (size <= 0) return std::nullopt;
  std::vector<std::byte> attribute(static_cast<std::size_t>(size));
  const ssize_t read = getxattr(path.c_str(), "lustre.lov", attribute.data(), attribute.size());
  if (read <= 0) return std::nullopt;
  return striping_of(std::span(attribute).first(static_cast<std::size_t>(read)));
}

}  // namespace glean::topology
