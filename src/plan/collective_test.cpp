// SPDX-License-Identifier: BSD-3-Clause
#include "plan/collective.hpp"

#include <gtest/gtest.h>

namespace glean::plan {
namespace {

using base::KiB;
using base::MiB;

topology::Storage lustre(int stripe_count, Bytes stripe_bytes) {
  return {.directory = "/scratch", .file_system = "lustre", .stripe_count = stripe_count, .stripe_bytes = stripe_bytes, .targets = 12};
}

TEST(CollectivePlan, HasOneAggregatorPerNodeAndGathersWhereNodesShareTheFileSystem) {
  const CollectivePlan shared = plan_collective({.directory = "/home", .file_system = "nfs4"}, 32, 4, 8 * MiB);
  const CollectivePlan local = plan_collective({.directory = "/tmp", .file_system = "ext4"}, 8, 1, 8 * MiB);

  EXPECT_EQ(shared, (CollectivePlan{4, 1, 8 * MiB, Gather::always}));
  EXPECT_EQ(shared.batch_bytes(), 32 * MiB);
  EXPECT_EQ(local, (CollectivePlan{1, 1, 8 * MiB, Gather::interleaved}));
}

TEST(CollectivePlan, GivesEveryTargetAsManyAggregators) {
  EXPECT_EQ(plan_collective(lustre(4, MiB), 320, 10, 8 * MiB).aggregators, 8);    // two for each
  EXPECT_EQ(plan_collective(lustre(-1, MiB), 320, 10, 8 * MiB).aggregators, 12);  // all targets
  EXPECT_EQ(plan_collective(lustre(-1, MiB), 320, 10, 8 * MiB).aggregators_per_node, 2);
  EXPECT_EQ(plan_collective(lustre(4, MiB), 3, 2, 8 * MiB).aggregators, 3);       // no more ranks
  EXPECT_EQ(plan_collective(lustre(0, 0), 320, 10, 8 * MiB).aggregators, 10);     // not known
}

TEST(CollectivePlan, WritesWholeStripes) {
  EXPECT_EQ(plan_collective(lustre(4, 3 * MiB), 8, 2, 8 * MiB).buffer_bytes, 9 * MiB);
  EXPECT_EQ(plan_collective(lustre(4, 16 * MiB), 8, 2, 8 * MiB).buffer_bytes, 16 * MiB);
  EXPECT_EQ(plan_collective(lustre(4, 64 * KiB), 8, 2, 8 * MiB).buffer_bytes, 8 * MiB);
}

TEST(CollectivePlan, SaysAllOfItInHints) {
  const std::vector<std::pair<std::string, std::string>> expected = {{"cb_nodes", "12"},
                                                                     {"cb_buffer_size", "8388608"},
                                                                     {"cb_config_list", "*:2"},
                                                                     {"romio_cb_write", "enable"},
                                                                     {"romio_ds_write", "disable"}};
  EXPECT_EQ(hints_of(plan_collective(lustre(-1, MiB), 320, 10, 8 * MiB)), expected);
}

}  // namespace
}  // namespace glean::plan
