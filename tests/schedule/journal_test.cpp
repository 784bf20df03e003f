// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks, journals and a drain: what is published is found whole, in order and once; each process that sleeps is woken; whichever dies,
// the others go on with all that was published.
#include <gtest/gtest.h>

#include "explore.hpp"
#include "traffic.hpp"

namespace glean::schedule {
namespace {

TEST(Journal, HandsOverWhatARankPutsRoundAndRoundATinyRing) {
  SmallPool small(1, 8);   // the ring is full before the chunks are
  explore_all(traffic(small, {.puts = 5}), {.interruptions = 2});
}

TEST(Journal, WakesARankThatWaitsForARecordRetiredOutOfOrder) {
  SmallPool small(1, 8);
  explore_all(traffic(small, {.puts = 5, .retires = Retires::newest_of_two_first}), {.interruptions = 2});
}

TEST(Journal, WakesARankWhenTheDrainActsOnlyBecauseItWaits) {
  SmallPool small(1, 8);
  explore_all(traffic(small, {.puts = 4, .retires = Retires::when_a_process_waits}), {.interruptions = 2});
}

TEST(Pool, WakesARankThatWaitsForItsLastChunk) {
  SmallPool small(1, 2, 128, 2048);   // the chunks are full before the ring is
  explore_all(traffic(small, {.puts = 6, .retires = Retires::when_a_process_waits}), {.interruptions = 2});
}

TEST(Pool, ServesTwoRanksThatWaitForTheLastChunk) {
  SmallPool small(2, 3, 128, 2048);
  explore_all(traffic(small, {.ranks = 2, .puts = 4, .retires = Retires::when_a_process_waits}), {.interruptions = 1});
  explore_at_random(traffic(small, {.ranks = 2, .puts = 6, .retires = Retires::when_a_process_waits}), 3000);
  explore_at_random(traffic(small, {.ranks = 2, .puts = 6, .retires = Retires::newest_of_two_first}), 3000);
}

TEST(Pool, ServesThreeRanksWithFullRingsAndNoChunkToSpare) {
  SmallPool small(3, 4);
  explore_at_random(traffic(small, {.ranks = 3, .puts = 6, .retires = Retires::newest_of_two_first}), 2000);
  explore_at_random(traffic(small, {.ranks = 3, .puts = 6, .retires = Retires::when_a_process_waits}), 2000);
}

TEST(Death, OfARankLeavesWhatItPublishedAndDisturbsNoOther) {
  SmallPool alone(1, 3);
  explore_all(traffic(alone, {.puts = 4, .dying = Dying::ranks}), {.interruptions = 1});
  SmallPool shared(2, 4);
  explore_at_random(traffic(shared, {.ranks = 2, .puts = 5, .retires = Retires::newest_of_two_first,
                                     .dying = Dying::ranks}), 3000);
}

TEST(Death, OfTheDrainLeavesAllToTheNext) {
  SmallPool alone(1, 3);
  explore_at_random(traffic(alone, {.puts = 4, .dying = Dying::drain}), 3000);
  explore_at_random(traffic(alone, {.puts = 4, .retires = Retires::payload_first, .dying = Dying::drain}), 3000);
  explore_all(traffic(alone, {.puts = 4, .retires = Retires::newest_of_two_first, .dying = Dying::drain}),
              {.interruptions = 0});
  SmallPool shared(2, 4);
  explore_at_random(traffic(shared, {.ranks = 2, .puts = 5, .retires = Retires::newest_of_two_first,
                                     .dying = Dying::drain}), 3000);
}

}  // namespace
}  // namespace glean::schedule
