// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "pool/journal.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

TEST(Recorder, PlacesWhatTheDrainMayWriteFromWhereItLiesAsInTheFile) {
  plan::NodePlan plan = small_plan();
  plan.chunk_bytes = 64 * base::KiB;
  plan.pool_bytes = 4 * base::MiB;
  TestPool made(1, plan);
  Recorder recorder(made.pool, 0, 20, [] { return "a rank"; });
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const Bytes file_offset = random() % (1 << 20), minimum = 1 + random() % plan.chunk_bytes;
    const auto room = recorder.try_reserve(plan.chunk_bytes, minimum, file_offset);
    ASSERT_TRUE(room);
    EXPECT_GE(room->bytes, minimum);
    if (minimum <= plan.chunk_bytes - 4096) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room->data) % 4096, file_offset % 4096);
    const mesh::Box box{{3}, {4}};
    recorder.commit_put(*room, minimum, {{1, 2}, 0, 5, mesh::Type::int8, &box, 0, minimum});
    JournalReader reader(made.pool, 0);
    while (const Record* record = reader.peek()) {
      reader.advance();
      reader.retire(*record);
    }
  }
}

}  // namespace
}  // namespace glean::pool
