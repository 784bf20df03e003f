// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "plan/random_case.hpp"
#include "plan/test_machines.hpp"

namespace glean::plan {
namespace {

using base::KiB;
using base::MiB;
using test::blue_gene_p;
using test::blue_gene_q;
using test::cluster;
using topology::Placement;

constexpr Placement rack{.ranks = 4096, .ranks_per_node = 4};

int aggregators_for(const topology::Machine& machine, Bytes bytes_per_rank) {
  return plan(machine, rack, {.bytes_per_rank = bytes_per_rank, .sink = Sink::stagers}, {}).choice.best().aggregators;
}

std::string refusal(const topology::Machine& machine, const Placement& placement, const Request& request, const Limits& limits) {
  try {
    static_cast<void>(plan(machine, placement, request, limits));
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
    return error.what();
  }
  return "a plan was made";
}

// Seed 000, figure 6: over the sizes that were measured, from 2 KiB a rank on, four for a pset are best; larger messages need
// the memory of more.
TEST(BlueGeneP, GetsFewAggregatorsForSmallMessagesFourInTheMiddleAndMoreForLargeOnes) {
  EXPECT_EQ(aggregators_for(blue_gene_p(), 4), 1);
  EXPECT_EQ(aggregators_for(blue_gene_p(), 64), 2);
  for (Bytes bytes = 2 * KiB; bytes <= MiB; bytes *= 2) EXPECT_EQ(aggregators_for(blue_gene_p(), bytes), 4) << bytes;
  EXPECT_EQ(aggregators_for(blue_gene_p(), 4 * MiB), 8);
  EXPECT_EQ(aggregators_for(blue_gene_p(), 8 * MiB), 16);
}

TEST(BlueGeneP, NeverGetsFewerForMore) {
  int before = 1;
  for (Bytes bytes = 1; bytes <= 16 * MiB; bytes *= 2) {
    const int now = aggregators_for(blue_gene_p(), bytes);
    EXPECT_GE(now, before) << bytes;
    before = now;
  }
}

// The four are the I/O node's cores, and nothing else.
TEST(BlueGeneP, WouldGetOtherNumbersWithOtherIoNodes) {
  topology::Machine machine = blue_gene_p();
  machine.way_out.concurrent_messages = 8;
  EXPECT_EQ(aggregators_for(machine, 64 * KiB), 8);
  machine.way_out.concurrent_messages = 1;
  EXPECT_LE(aggregators_for(machine, 64 * KiB), 2);
}

TEST(Plan, ScalesWithoutChangingAGroup) {
  const Request request{.bytes_per_rank = 64 * KiB, .sink = Sink::stagers};
  const Plan one = plan(blue_gene_p(), rack, request, {});
  const Plan sixteen = plan(blue_gene_p({32, 32, 16}), {.ranks = 65536, .ranks_per_node = 4}, request, {});

  ASSERT_EQ(one.alike.size(), 1U);
  ASSERT_EQ(sixteen.alike.size(), 1U);
  EXPECT_EQ(one.alike[0].shape, sixteen.alike[0].shape);
  EXPECT_EQ(sixteen.alike[0].count(), 256);
}

TEST(Plan, SpreadsAggregatorsOverBothGateways) {
  const Plan made = plan(blue_gene_q(), {.ranks = 8192, .ranks_per_node = 16}, {.bytes_per_rank = MiB}, {});

  std::map<NodeId, int> of_gateway;
  for (const auto& each : made.alike.at(0).shape.aggregators) ++of_gateway[each.gateway];
  ASSERT_EQ(of_gateway.size(), 2U);
  EXPECT_EQ(of_gateway.begin()->second, of_gateway.rbegin()->second);
}

TEST(Plan, GivesOneRankWithEverythingItsOwnNode) {
  const Request request{.bytes_per_rank = 0, .exceptions = {{1000, 1, base::GiB}}, .sink = Sink::stagers};
  const GroupId group = blue_gene_p().group_of(1000 / 4);
  const GroupPlan its = plan_group(blue_gene_p(), rack, request, {}, group);
  const GroupPlan other = plan_group(blue_gene_p(), rack, request, {}, group == 0 ? 1 : 0);

  const auto full = std::find_if(its.shape.members.begin(), its.shape.members.end(), [](const auto& each) { return each.bytes != 0; });
  ASSERT_NE(full, its.shape.members.end());
  EXPECT_EQ(its.shape.aggregators.at(static_cast<std::size_t>(full->aggregator)).position, full->position);
  EXPECT_EQ(its.shape.rounds, 8);   // of 128 MiB
  EXPECT_TRUE(other.shape.aggregators.empty());
  EXPECT_EQ(other.shape.members.at(0).aggregator, -1);
}

TEST(Plan, UsesMoreFilesWhereAFileIsOnFewTargets) {
  const Plan made = plan(cluster(8), {.ranks = 256, .ranks_per_node = 32}, {.bytes_per_rank = 16 * MiB}, {});
  EXPECT_GT(made.files, 1);

  topology::Machine wide = cluster(8);
  wide.file_system.stripe_count = 56;
  EXPECT_EQ(plan(wide, {.ranks = 256, .ranks_per_node = 32}, {.bytes_per_rank = 16 * MiB}, {}).files, 1);
}

TEST(Plan, HasWindowsOfWholeBlocksHoweverLittleThereIs) {
  const Plan made = plan(blue_gene_p(), rack, {.bytes_per_rank = KiB}, {});
  EXPECT_EQ(made.choice.best().window_bytes, 4 * MiB);
  EXPECT_EQ(made.choice.best().aggregators, 1);

  topology::Machine unknown = cluster(1);
  unknown.file_system = {};
  EXPECT_EQ(plan(unknown, {}, {.bytes_per_rank = 5000}, {}).choice.best().window_bytes, 4 * KiB);
}

TEST(Plan, RefusesWhatCannotBeWithEveryReason) {
  EXPECT_EQ(refusal(cluster(2), {.ranks = 100, .ranks_per_node = 4}, {}, {}),
            "this cannot be planned: 100 ranks need 25 nodes, cluster has 2");
  EXPECT_EQ(refusal(cluster(2), {.ranks = 8, .ranks_per_node = 4},
                    {.exceptions = {{4, 3, 1}, {6, 1, 1}}, .variables = 0, .files = 3}, {.aggregators_min = 3, .aggregators_max = 2}),
            "this cannot be planned: 0 variables: there must be one at least; an exception for rank 6 comes behind one that goes to rank 6"
            ": they ascend and are disjoint; 3 files: the ranks are in 2 I/O groups, and a group writes to one file; from 3 to 2 "
            "aggregators in a group");
  EXPECT_EQ(refusal(cluster(2), {.ranks = 8, .ranks_per_node = 4}, {.exceptions = {{6, 3, 1}}}, {}),
            "this cannot be planned: an exception for ranks 6 to 8, and the ranks are 0 to 7");
  EXPECT_EQ(refusal(cluster(1), {.ranks = 4, .ranks_per_node = 4}, {.bytes_per_rank = Bytes{1} << 61}, {}),
            "this cannot be planned: more bytes than a file can have");
  EXPECT_THROW(static_cast<void>(plan_group(cluster(4), {.ranks = 2, .ranks_per_node = 2}, {}, {}, 3)), base::Error);
}

// -- properties

void expect_all_bytes_gathered_once(const test::RandomCase& given, const Plan& made) {
  std::set<NodeId> seen;
  Bytes sum = 0;
  for (const Plan::Alike& alike : made.alike) {
    for (const Plan::Run& run : alike.groups) {
      for (GroupId group = run.first; group < run.first + run.count; ++group) {
        for (const GroupShape::Member& each : alike.shape.members) {
          const NodeId node = given.machine.node_in_group(group, each.position);
          EXPECT_EQ(given.machine.group_of(node), group);
          EXPECT_TRUE(seen.insert(node).second);
          sum += each.bytes;
          EXPECT_TRUE(each.bytes == 0 || static_cast<std::size_t>(each.aggregator) < alike.shape.aggregators.size());
        }
      }
    }
  }
  EXPECT_EQ(sum, made.bytes);
  EXPECT_EQ(made.bytes, given.request.bytes_before(ranks_in(given.placement)));
  for (std::int64_t rank = 0; rank < ranks_in(given.placement); ++rank) EXPECT_TRUE(seen.contains(given.placement.node_of(rank)));
}

void expect_bounded_loads(const test::RandomCase& given, const GroupPlan& its) {
  const GroupShape& shape = its.shape;
  if (shape.aggregators.empty()) return;
  std::vector<Bytes> gathered(shape.aggregators.size());
  Bytes sum = 0, largest = 0;
  for (const GroupShape::Member& each : shape.members) {
    gathered.at(static_cast<std::size_t>(each.aggregator)) += each.bytes;
    sum += each.bytes;
    largest = std::max(largest, each.bytes);
  }
  std::set<NodeId> positions;
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    EXPECT_EQ(gathered[i], shape.aggregators[i].bytes);
    EXPECT_TRUE(positions.insert(shape.aggregators[i].position).second);
    const bool member = std::any_of(shape.members.begin(), shape.members.end(), [&](const auto& each) {
      return each.position == shape.aggregators[i].position && each.aggregator == static_cast<int>(i);
    });
    EXPECT_TRUE(member) << "an aggregator is one of its own";
    // Where gateways decide, a part of the group may have more than its share.
    EXPECT_TRUE(!given.machine.way_out.gateways.empty() || gathered[i] <= sum / gathered.size() + 2 * largest + 1);
  }
  EXPECT_LE(static_cast<int>(gathered.size()), given.limits.aggregators_max);
}

// The groups of each file, which come in order: their domains are one after the other, and are all that there are.
class Domains {
 public:
  void add(const test::RandomCase& given, const GroupPlan& its) {
    EXPECT_EQ(its.domains.window_bytes % unit_bytes(given.machine.file_system), 0U);
    if (its.file != file_) {
      EXPECT_EQ(its.file, file_ + 1);
      finish(given);
      file_ = its.file;
      domains_ = its.domains;
    }
    EXPECT_EQ(its.domains, domains_);
    EXPECT_EQ(its.first_domain, next_);
    for (std::int64_t domain = next_; domain < next_ + its.domain_count; ++domain) group_of_.push_back(its.group);
    next_ += its.domain_count;
    last_ = its;
    EXPECT_FALSE(its.shape.aggregators.empty());
  }
  void finish(const test::RandomCase& given) {
    if (file_ < 0) return;
    EXPECT_EQ(next_, domains_.aggregators);
    for (std::size_t domain = 0; domain < group_of_.size(); ++domain) {
      EXPECT_EQ(group_of_domain(given.machine, given.placement, last_, static_cast<std::int64_t>(domain)), group_of_[domain]);
    }
    group_of_.clear();
    if (domains_.fixed_end > 0) expect_even();
    next_ = 0;
  }

 private:
  // What lies in one piece is divided so that no two domains differ by more than a window and its rest.
  void expect_even() const {
    const Bytes windows = (domains_.fixed_end + domains_.window_bytes - 1) / domains_.window_bytes;
    if (windows > 5000) return;
    std::map<std::int64_t, Bytes> of_owner;
    for (Bytes window = 0; window < windows; ++window) ++of_owner[domains_.owner(window)];
    for (const auto& [owner, count] : of_owner) {
      EXPECT_LT(owner, domains_.aggregators);
      EXPECT_LE(count, windows / static_cast<Bytes>(domains_.aggregators) + 2);
    }
  }

  std::int64_t file_ = -1, next_ = 0;
  FileDomains domains_;
  std::vector<GroupId> group_of_;   // of each domain of the file
  GroupPlan last_;
};

TEST(Plan, HoldsWhatItPromisesForWhateverIsAsked) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const test::RandomCase given = test::RandomCases(seed).next();
    ASSERT_EQ(topology::problems_of(given.machine), std::vector<std::string>{});
    const Plan made = plan(given.machine, given.placement, given.request, given.limits);

    EXPECT_EQ(made, plan(given.machine, given.placement, given.request, given.limits));
    expect_all_bytes_gathered_once(given, made);
    Domains domains;
    for (GroupId group = 0; group < given.machine.groups(); ++group) {
      const GroupShape* shape = made.shape_of(group);
      if (shape == nullptr) continue;
      const GroupPlan its = plan_group(given.machine, given.placement, given.request, given.limits, group);
      EXPECT_EQ(its.shape, *shape);
      expect_bounded_loads(given, its);
      for (const Writer& writer : writers(given.machine, given.placement, its)) {
        EXPECT_EQ(given.placement.node_of(writer.rank), writer.node);
        EXPECT_EQ(given.machine.group_of(writer.node), group);
      }
      if (given.request.sink == Sink::storage) domains.add(given, its);
      else EXPECT_EQ(its.file, -1);
    }
    domains.finish(given);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace glean::plan
