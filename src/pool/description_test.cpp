// SPDX-License-Identifier: BSD-3-Clause
#include "pool/description.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Parts, AreReadAsTheyWereWritten) {
  TestPool made(1);
  const OutputKey key = made.claim_slot();
  const Bytes in_a_chunk = made.pool.header().chunk_bytes - sizeof(DescriptionPart);
  for (const std::size_t count : {Bytes{1}, in_a_chunk, in_a_chunk + 1, 5 * in_a_chunk}) {
    const auto bytes = some_bytes(count);

    const auto parts = write_parts(made.pool, key, bytes);
    ASSERT_TRUE(parts.has_value());
    made.pool.slot(key.slot).steps.takeover_log = parts->newest;
    const auto kept = read_takeover_log(made.pool, key);

    EXPECT_TRUE(kept.bytes == bytes) << count;
    EXPECT_TRUE(kept.complete);
    EXPECT_EQ(kept.chunks.size(), parts->chunks.size());
    for (const auto chunk : kept.chunks) made.pool.drop_reference(chunk);
    EXPECT_EQ(made.pool.used_bytes(), 0U);
  }
}

TEST(Parts, TakeNothingWhereThereIsNotEnough) {
  TestPool made(1);
  const OutputKey key = made.claim_slot();
  const Bytes chunks = made.pool.header().chunk_count * made.pool.header().chunk_bytes;

  EXPECT_FALSE(write_parts(made.pool, key, some_bytes(chunks)).has_value());

  EXPECT_EQ(made.pool.used_bytes(), 0U);
}

TEST(Parts, OfAnotherOutputAreRefused) {
  TestPool made(1);
  const OutputKey key = made.claim_slot(), other = made.claim_slot();
  const auto parts = write_parts(made.pool, other, some_bytes(10));
  ASSERT_TRUE(parts.has_value());
  EXPECT_TRUE(read_takeover_log(made.pool, key).bytes.empty());

  made.pool.slot(key.slot).steps.takeover_log = parts->newest;

  EXPECT_THROW(static_cast<void>(read_takeover_log(made.pool, key)), base::Error);
}

}  // namespace
}  // namespace glean::pool
