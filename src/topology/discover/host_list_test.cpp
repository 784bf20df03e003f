// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/host_list.hpp"

#include <gtest/gtest.h>

namespace glean::topology {
namespace {

using Names = std::vector<std::string>;

// All but the one with "-ib" as `scontrol show hostnames` of Slurm 22.05 has them.
TEST(HostList, ExpandsWhatSlurmWrites) {
  EXPECT_EQ(expand_host_list("n1"), Names{"n1"});
  EXPECT_EQ(expand_host_list("n[08-10,15],gpu3"), (Names{"n08", "n09", "n10", "n15", "gpu3"}));
  EXPECT_EQ(expand_host_list("n[9-11]"), (Names{"n9", "n10", "n11"}));
  EXPECT_EQ(expand_host_list("r[0-1]n[1-2]-ib"), (Names{"r0n1-ib", "r0n2-ib", "r1n1-ib", "r1n2-ib"}));
  EXPECT_EQ(expand_host_list("n[098-101]"), (Names{"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expand_host_list("tux[0-3,12,18-20]")->size(), 8U);
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* text : {"", ",", "n1,", "n[1", "n1]", "n[[1]]", "n[]", "n[3-1]", "n[a-b]", "n[1-]", "n[-1]", "n[0-99999999]",
                           "n[0-9999]m[0-9999]", "n[1-99999999999999999999]"}) {
    EXPECT_EQ(expand_host_list(text), std::nullopt) << text;
  }
}

TEST(HostList, ExpandsCounts) {
  EXPECT_EQ(expand_counts("4"), std::vector<int>{4});
  EXPECT_EQ(expand_counts("4(x3),2"), (std::vector<int>{4, 4, 4, 2}));
}

TEST(HostList, RefusesCountsThatAreNone) {
  for (const char* text : {"", "4(x", "4(x3", "4(3)", "x3", "4(x99999999)", "-1", "4,,2", "99999999999"}) {
    EXPECT_EQ(expand_counts(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace glean::topology
