// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/test_machines.hpp"
#include "plan/traffic.hpp"
#include "simulate/bound.hpp"
#include "simulate/fluid.hpp"
#include "simulate/random_work.hpp"

namespace glean::simulate {
namespace {

TEST(Fluid, SharesALinkEvenlyAndGivesWhatIsLeftToTheLongerFlow) {
  Work work;
  const ResourceId link = work.add(Resource{"link", 10});
  const ActivityId small = work.add(Activity{.name = "small", .bytes = 50, .uses = {{link}}});
  const ActivityId large = work.add(Activity{.name = "large", .bytes = 150, .uses = {{link}}});

  const Timeline timeline = run_fluid(work);

  EXPECT_DOUBLE_EQ(timeline.spans[small].end, 10);   // 5 each
  EXPECT_DOUBLE_EQ(timeline.spans[large].end, 20);   // 50 by then, the other 100 at 10
  EXPECT_DOUBLE_EQ(timeline.served[link], 200);
}

// The textbook case: a flow over two links leaves what it does not get on the first one to the flow on the second.
TEST(Fluid, IsMaxMinFairOverSeveralLinks) {
  Work work;
  const ResourceId narrow = work.add(Resource{"narrow", 6}), wide = work.add(Resource{"wide", 10});
  const ActivityId both = work.add(Activity{.name = "both", .bytes = 30, .uses = {{narrow}, {wide}}});
  const ActivityId on_narrow = work.add(Activity{.name = "on narrow", .bytes = 30, .uses = {{narrow}}});
  const ActivityId on_wide = work.add(Activity{.name = "on wide", .bytes = 70, .uses = {{wide}}});

  const Timeline timeline = run_fluid(work);

  EXPECT_DOUBLE_EQ(timeline.spans[both].end, 10);        // 3
  EXPECT_DOUBLE_EQ(timeline.spans[on_narrow].end, 10);   // 3
  EXPECT_DOUBLE_EQ(timeline.spans[on_wide].end, 10);     // 7, not 5
}

TEST(Fluid, HoldsAFlowAtItsOwnRateAndGivesTheRestToTheOthers) {
  Work work;
  const ResourceId link = work.add(Resource{"link", 10});
  const ActivityId held = work.add(Activity{.name = "held", .bytes = 20, .bytes_per_second_max = 2, .uses = {{link}}});
  const ActivityId other = work.add(Activity{.name = "other", .bytes = 80, .uses = {{link}}});

  const Timeline timeline = run_fluid(work);

  EXPECT_DOUBLE_EQ(timeline.spans[held].end, 10);
  EXPECT_DOUBLE_EQ(timeline.spans[other].end, 10);
  ASSERT_EQ(timeline.spans[held].held.size(), 1u);
  EXPECT_EQ(timeline.spans[held].held[0].resource, Held::by_itself);
  EXPECT_EQ(timeline.spans[other].held[0].resource, link);
}

TEST(Fluid, LetsSecondsPassBeforeBytesMoveAndBeginsWhatWaits) {
  Work work;
  const ResourceId link = work.add(Resource{"link", 10});
  const ActivityId first = work.add(Activity{.name = "first", .seconds = 3, .bytes = 20, .uses = {{link}}});
  const ActivityId milestone = work.add(Activity{.name = "milestone", .after = {first}});
  const ActivityId second = work.add(Activity{.name = "second", .bytes = 10, .uses = {{link}}, .after = {milestone}});

  const Timeline timeline = run_fluid(work);

  EXPECT_DOUBLE_EQ(timeline.spans[first].end, 5);
  EXPECT_DOUBLE_EQ(timeline.spans[milestone].end, 5);
  EXPECT_DOUBLE_EQ(timeline.spans[second].begin, 5);
  EXPECT_DOUBLE_EQ(timeline.spans[second].end, 6);
}

// One activity with n units for a byte is n flows of their own: what makes 131,072 ranks one.
TEST(Fluid, TakesFlowsThatAreAlikeAsOne) {
  Work apart, together;
  const ResourceId a = apart.add(Resource{"link", 7}), t = together.add(Resource{"link", 7});
  for (int i = 0; i < 5; ++i) apart.add(Activity{.name = "flow", .bytes = 10, .uses = {{a}}});
  apart.add(Activity{.name = "other", .bytes = 40, .uses = {{a}}});
  together.add(Activity{.name = "flow", .bytes = 10, .uses = {{t, 5}}});
  together.add(Activity{.name = "other", .bytes = 40, .uses = {{t}}});

  const Timeline one_by_one = run_fluid(apart), as_one = run_fluid(together);

  EXPECT_NEAR(one_by_one.spans[0].end, as_one.spans[0].end, 1e-9);
  EXPECT_NEAR(one_by_one.spans[5].end, as_one.spans[1].end, 1e-9);
}

TEST(Fluid, ServesEveryByteOfRandomWorksInTheirOrder) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Work work = test::random_work(seed);
    const Timeline timeline = run_fluid(work);

    std::vector<double> expected(work.resources().size());
    for (ActivityId each = 0; each < work.activities().size(); ++each) {
      const Activity& activity = work.activities()[each];
      const Timeline::Span& span = timeline.spans[each];
      double held = 0;
      for (const Held& by : span.held) held += by.seconds;
      EXPECT_NEAR(held, span.end - span.begin, 1e-6) << seed;
      EXPECT_GE(span.end - span.begin, seconds_alone(work, activity) * (1 - 1e-9)) << seed;
      for (const ActivityId before : activity.after) EXPECT_GE(span.begin, timeline.spans[before].end) << seed;
      for (const Use& use : activity.uses) expected[use.resource] += use.units_per_byte * activity.bytes;
    }
    for (ResourceId each = 0; each < expected.size(); ++each) {
      EXPECT_NEAR(timeline.served[each], expected[each], 1e-6) << seed;
      EXPECT_LE(expected[each], work.resources()[each].units_per_second * timeline.end() * (1 + 1e-9)) << seed;
    }
  }
}

TEST(Fluid, IsNeverFasterThanTheBound) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Work work = test::random_work(seed);
    const Timeline fluid = run_fluid(work), bound = run_bound(work);
    for (ActivityId each = 0; each < work.activities().size(); ++each) {
      EXPECT_GE(fluid.spans[each].end, bound.spans[each].end * (1 - 1e-9)) << seed << " " << each;
    }
  }
}

// Chains and all: of these works none has the anomaly that is possible when something begins earlier and is then in the way.
TEST(Fluid, IsNeverSlowerWithFasterResources) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Work work = test::random_work(seed);
    Work faster;
    for (const Resource& each : work.resources()) faster.add(Resource{each.name, each.units_per_second * 2});
    for (const Activity& each : work.activities()) faster.add(each);
    EXPECT_LE(run_fluid(faster).end(), run_fluid(work).end() * (1 + 1e-9)) << seed;
  }
}

TEST(Bound, IsTheBusiestLinkOfThePlanner) {
  const topology::Machine machine = plan::test::blue_gene_p();
  std::vector<plan::Flow> flows;
  for (topology::NodeId node = 0; node < 64; ++node) flows.push_back({machine.node_in_group(3, node), machine.node_in_group(3, 21), 1e6});
  Work work;
  std::vector<topology::Link> links;
  for (const plan::Flow& flow : flows) {
    Activity activity{.name = "gather", .bytes = flow.from == flow.to ? 0 : flow.bytes};
    for (const topology::Link& link : machine.route(flow.from, flow.to)) {
      auto found = std::find(links.begin(), links.end(), link);
      if (found == links.end()) {
        work.add(Resource{"link", machine.bytes_per_second(link)});
        found = links.insert(links.end(), link);
      }
      activity.uses.push_back({static_cast<ResourceId>(found - links.begin())});
    }
    work.add(activity);
  }
  const ActivityId last = work.add(Activity{.name = "all", .after = [&] {
                                              std::vector<ActivityId> all(work.activities().size());
                                              for (ActivityId i = 0; i < all.size(); ++i) all[i] = i;
                                              return all;
                                            }()});

  const double seconds = plan::busiest_link_seconds(machine, flows);

  EXPECT_NEAR(run_bound(work).spans[last].end, seconds, 1e-12);
  EXPECT_NEAR(run_fluid(work).spans[last].end, seconds, 1e-9);   // a regular phase takes no longer
}

TEST(Bound, IsTheLongestChainWhereNoResourceIsBusy) {
  Work work;
  const ResourceId link = work.add(Resource{"link", 10});
  const ActivityId first = work.add(Activity{.name = "first", .seconds = 1, .bytes = 20, .uses = {{link}}});
  const ActivityId second = work.add(Activity{.name = "second", .seconds = 4, .after = {first}});

  const Timeline timeline = run_bound(work);

  EXPECT_DOUBLE_EQ(timeline.spans[first].end, 3);
  EXPECT_DOUBLE_EQ(timeline.spans[second].end, 7);
}

TEST(Work, RefusesWhatCannotBe) {
  Work work;
  EXPECT_THROW(work.add(Resource{"link", 0}), base::Error);
  work.add(Resource{"link", 1});
  EXPECT_THROW(work.add(Activity{.name = "a", .bytes = -1}), base::Error);
  EXPECT_THROW(work.add(Activity{.name = "a", .uses = {{1}}}), base::Error);
  EXPECT_THROW(work.add(Activity{.name = "a", .after = {0}}), base::Error);   // itself
}

}  // namespace
}  // namespace glean::simulate
