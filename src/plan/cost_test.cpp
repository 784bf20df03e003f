// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cost.hpp"

#include <gtest/gtest.h>

#include "plan/spread.hpp"
#include "plan/test_machines.hpp"

namespace glean::plan {
namespace {

using base::KiB;
using base::MiB;
using topology::Placement;

struct Case {
  topology::Machine machine;
  Placement placement;
  Request request;
  Limits limits{};

  [[nodiscard]] Situation situation() const {
    return {machine, placement, request, limits, load_of(machine, placement, request, 0), machine.groups(), 0,
            request.bytes_before(placement.ranks)};
  }
  [[nodiscard]] Cost cost(int aggregators, std::int64_t files = 0) const {
    const Situation its = situation();
    return costs_of(its, divide(machine, its.load, aggregators), {files}).front();
  }
};

Case on_a_rack(Request request) { return {test::blue_gene_p(), {.ranks = 4096, .ranks_per_node = 4}, std::move(request)}; }

// A pset of 64 nodes with 256 KiB each, four aggregators: every term by hand.
TEST(Cost, HasTheTermsOfTheFormula) {
  const Cost cost = on_a_rack({.bytes_per_rank = 64 * KiB, .sink = Sink::stagers}).cost(4);

  EXPECT_DOUBLE_EQ(cost.gather_messages, 15 * 3e-6);
  EXPECT_DOUBLE_EQ(cost.gather_links, 8 * 256.0 * KiB / 425e6);   // half of a box of 4 x 4 x 1 comes over one link
  EXPECT_DOUBLE_EQ(cost.gather_copy, 15 * 256.0 * KiB / 2e9);
  EXPECT_DOUBLE_EQ(cost.forward_messages, 16 * (1 / 680.0 - 1 / 731.0));
  EXPECT_DOUBLE_EQ(cost.forward_bytes, 16 / 731.0);
  EXPECT_EQ(cost.exchange + cost.store() + cost.create, 0);
  EXPECT_DOUBLE_EQ(cost.total, cost.forward() + cost.gather() / 4);   // four pieces of 1 MiB
}

// Published: 680 MiB/s of 731 with messages of 1 MiB, and about half of the peak with 64 KiB (seed 000, sections 2.3 and 3).
TEST(Cost, MeetsThePublishedShareOfThePeak) {
  const auto share = [](Bytes message) {
    Case given = on_a_rack({.bytes_per_rank = message, .sink = Sink::stagers});
    given.limits.piece_bytes = message;
    const Cost cost = given.cost(64);
    return cost.forward_bytes / cost.forward();
  };
  // Each node has four ranks, and each of their messages is one.
  EXPECT_NEAR(share(MiB) * 731, 680, 1);
  EXPECT_NEAR(share(64 * KiB), 0.5, 0.06);
  EXPECT_NEAR(share(4 * KiB), 0.04, 0.015);
}

TEST(Cost, OfOneStreamIsWhatOneThreadOfTheIoNodeCanDo) {
  const Case given = on_a_rack({.bytes_per_rank = MiB, .sink = Sink::stagers});
  EXPECT_DOUBLE_EQ(given.cost(1).forward_bytes, 4 * given.cost(4).forward_bytes);
  EXPECT_DOUBLE_EQ(given.cost(8).forward_bytes, given.cost(4).forward_bytes);
}

TEST(Cost, OfStorageCountsWholeBlocksRequestsAndFiles) {
  Case given{test::cluster(2), {.ranks = 2, .ranks_per_node = 1}, {.bytes_per_rank = 32 * MiB}};

  const Cost one = given.cost(1, 1), two = given.cost(1, 2);

  EXPECT_DOUBLE_EQ(one.store_bytes, 64.0 * MiB / (4 * 3.75e9));   // a file is on four targets
  EXPECT_DOUBLE_EQ(two.store_bytes, 64.0 * MiB / (8 * 3.75e9));
  EXPECT_DOUBLE_EQ(one.store_requests, 2 * 100e-6);               // eight windows of 8 MiB
  EXPECT_DOUBLE_EQ(two.store_requests, 1 * 100e-6);
  EXPECT_DOUBLE_EQ(two.create, 2 * 500e-6);
}

TEST(Cost, IsZeroWhereNothingIsToBeWritten) {
  EXPECT_EQ(on_a_rack({.bytes_per_rank = 0, .sink = Sink::stagers}).cost(4).total, 0);
}

TEST(Spread, OfRanksInOrderStaysInTheGroup) {
  const Case given{test::cluster(4), {.ranks = 64, .ranks_per_node = 16}, {.bytes_per_rank = MiB}};
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 1).leaving, 0);
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 1).of_node, 0.25);
}

// 64 ranks cut a cube into 4 x 4 x 4; a node of eight has half of a slab, of which two nodes have the file's part.
TEST(Spread, OfBoxesReachesAllWhoHaveTheSameSlab) {
  Case given{test::cluster(8), {.ranks = 64, .ranks_per_node = 8}, {.bytes_per_rank = MiB}};
  given.request.pattern = Pattern::s3d;
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 1).of_node, 0.25);
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 1).leaving, 0.5);
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 8).leaving, 0);
  EXPECT_GT(given.cost(1, 1).exchange, 0);
}

TEST(Spread, OfANodeIsFromItsFirstRankToItsLast) {
  Case given{test::cluster(2), {.ranks = 64, .ranks_per_node = 32}, {.bytes_per_rank = MiB, .pattern = Pattern::s3d}};
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 1).of_node, 0.5);   // two slabs of sixteen
  EXPECT_DOUBLE_EQ(spread_of(given.situation(), 1).leaving, 0);
}

TEST(Cost, OfGatheringIsOfWhatStaysInTheGroup) {
  const Case given = on_a_rack({.bytes_per_rank = MiB, .pattern = Pattern::s3d});
  const double leaving = spread_of(given.situation(), 1).leaving;
  EXPECT_GT(leaving, 0.5);
  EXPECT_DOUBLE_EQ(given.cost(4, 1).gather_links, (1 - leaving) * given.cost(4, 16).gather_links);
  EXPECT_EQ(given.cost(4, 16).exchange, 0);
}

TEST(Spread, CutsACubeAsEvenlyAsTheFactorsAllow) {
  const auto expect = [](std::int64_t ranks, std::int64_t fast, std::int64_t middle, std::int64_t slow) {
    const Cuts cuts = cuts_of(ranks);
    EXPECT_EQ(cuts.fast, fast) << ranks;
    EXPECT_EQ(cuts.middle, middle) << ranks;
    EXPECT_EQ(cuts.slow, slow) << ranks;
  };
  expect(4096, 16, 16, 16);
  expect(32768, 32, 32, 32);
  expect(12, 3, 2, 2);
  expect(7, 7, 1, 1);
  expect(1, 1, 1, 1);
}

}  // namespace
}  // namespace glean::plan
