// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/striping.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace glean::topology {
namespace {

using Attribute = std::vector<std::byte>;

void append(Attribute& attribute, std::uint64_t number, int width) {
  for (int i = 0; i < width; ++i) attribute.push_back(static_cast<std::byte>(i < 8 ? number >> (8 * i) : 0));
}

// lov_user_md: magic, pattern, object, size and count of stripes, first target; version 3 has a pool of 16 characters.
Attribute plain_layout(std::uint32_t magic, std::uint32_t stripe_bytes, std::uint16_t stripe_count) {
  Attribute attribute;
  append(attribute, magic, 4);
  append(attribute, 1, 4);
  append(attribute, 0, 16);
  append(attribute, stripe_bytes, 4);
  append(attribute, stripe_count, 2);
  append(attribute, 0xFFFF, 2);
  if (magic == 0x0BD30BD0) attribute.resize(attribute.size() + 16, std::byte{'p'});
  return attribute;
}

Attribute in_components(const std::vector<Attribute>& parts) {
  Attribute attribute;
  append(attribute, 0x0BD60BD0, 4);
  append(attribute, 0, 4);
  append(attribute, 1, 4);
  append(attribute, 0, 2);
  append(attribute, parts.size(), 2);
  append(attribute, 0, 16);
  std::size_t offset = 32 + 48 * parts.size();
  for (const Attribute& part : parts) {
    append(attribute, 1, 4);
    append(attribute, 0, 4);
    append(attribute, 0, 16);
    append(attribute, offset, 4);
    append(attribute, part.size(), 4);
    append(attribute, 0, 16);
    offset += part.size();
  }
  for (const Attribute& part : parts) attribute.insert(attribute.end(), part.begin(), part.end());
  return attribute;
}

TEST(Striping, IsReadFromPlainLayouts) {
  EXPECT_EQ(striping_of(plain_layout(0x0BD10BD0, 1 << 20, 4)), (Striping{.count = 4, .bytes = base::MiB}));
  EXPECT_EQ(striping_of(plain_layout(0x0BD30BD0, 8 << 20, 32)), (Striping{.count = 32, .bytes = 8 * base::MiB}));
  EXPECT_EQ(striping_of(plain_layout(0x0BD10BD0, 0, 0xFFFF)), (Striping{.count = -1, .bytes = 0}));
}

TEST(Striping, OfComponentsIsThatOfTheLast) {
  const Attribute attribute = in_components({plain_layout(0x0BD10BD0, 1 << 20, 1), plain_layout(0x0BD30BD0, 4 << 20, 16)});

  EXPECT_EQ(striping_of(attribute), (Striping{.count = 16, .bytes = 4 * base::MiB}));
}

TEST(Striping, IsNoneInAnythingElse) {
  EXPECT_EQ(striping_of({}), std::nullopt);
  EXPECT_EQ(striping_of(plain_layout(0x0BD50BD0, 1, 1)), std::nullopt);
  EXPECT_EQ(striping_of(in_components({})), std::nullopt);
  const Attribute whole = in_components({plain_layout(0x0BD10BD0, 1 << 20, 1)});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(striping_of(std::span(whole).first(length)), std::nullopt) << length;
  }
}

TEST(Striping, IsNoneOfADirectoryThatIsNotOnLustre) { EXPECT_EQ(discover_striping("/proc"), std::nullopt); }

}  // namespace
}  // namespace glean::topology
