// SPDX-License-Identifier: BSD-3-Clause
//
// Several nodes whose pools are full: what is in spill files, or written by ranks. And the checksums of what several write.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <tuple>

#include "base/clock.hpp"
#include "virtual_nodes.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"
#include "store/sums/verify.hpp"

namespace glean::tests::exchange_full_pool_test {
namespace {

using base::WhenFull;

constexpr std::uint64_t rows = 120;

class FullPools : public testing::Test {
 protected:
  static plan::NodePlan plan() {
    plan::NodePlan plan = pool::small_plan();
    plan.drain_threads = 2;
    plan.pool_bytes = 4 * base::MiB;
    plan.journal_bytes_per_rank = 512 * base::KiB;
    return plan;
  }
  static plan::FileShare share(std::int64_t nodes) {
    return {.machine = plan::plain_machine(nodes), .nodes = nodes, .window_bytes = 4 * base::KiB, .request_bytes = 4 * base::KiB};
  }
  // Two nodes of one rank, and each puts in one go what the other writes: `rows` windows of a variable.
  VirtualOutput crossing(const std::string& name, bool filled = false) {
    VirtualOutput output;
    output.steps = 2;
    output.description.names = {directory_ / (name + ".part"), directory_ / name};
    output.description.display_path = output.description.names.final_path;
    auto& layout = output.description.layout;
    layout.header_bytes = 4 * base::KiB;
    layout.variables.push_back({"v", mesh::Type::int32, {rows, 1024}, 4 * base::KiB, rows * 4 * base::KiB, filled, {}});
    const std::uint64_t half = rows / 2, left_out = filled ? 5 : 0;
    plan::FileWriters writers(share(2), extents_of(layout));
    EXPECT_NE(writers.node_of(1), writers.node_of(1 + half));
    const int first = static_cast<int>(writers.node_of(1));
    for (std::uint64_t step = 0; step < output.steps; ++step) {
      output.puts.push_back({step, 1 - first, 0, mesh::Type::int32, {{0, 0}, {half - left_out, 1024}}});
      output.puts.push_back({step, first, 0, mesh::Type::int32, {{half, 0}, {half - left_out, 1024}}});
    }
    return output;
  }
  void spill(VirtualNodes& nodes, int chunks_left = 4, WhenFull full = WhenFull::spill) {
    for (int n = 0; n < nodes.nodes(); ++n) nodes.node(n).made.spill_to(directory_.string(), 4 * base::MiB);
    nodes.make_pools_full(full, chunks_left);
  }
  static void expect_file(const VirtualOutput& output) {
    EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file()) << output.description.display_path;
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  }
  // Sums of all of it, by the nodes that have written it and not by reading it back, but for what ranks have.
  static void expect_sums(const VirtualOutput& output, WhenFull full = WhenFull::spill) {
    store::SystemCalls calls;
    const std::string& path = output.description.names.final_path;
    const auto sidecar = store::read_sidecar(calls, path);
    ASSERT_EQ(sidecar.has_value(), output.description.checksums);
    if (!sidecar) return;
    const auto whole = store::verify(calls, path, *sidecar);
    EXPECT_TRUE(whole.good());
    if (full == WhenFull::synchronous) return;
    EXPECT_EQ(whole.read_back_bytes, output.description.layout.header_bytes);
    Bytes summed = 0, data = output.description.layout.header_bytes;
    for (const auto& sum : sidecar->sums) summed += sum.bytes();
    for (const auto& put : output.puts) {
      data += put.box.elements() * mesh::size_of(output.description.layout.variables[put.variable].external);
    }
    EXPECT_GE(summed, data);
  }

  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
};

TEST_F(FullPools, SendWhatIsSpilledAndGiveItsRoomBack) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  spill(nodes);
  const VirtualOutput output = crossing("a", true);

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  EXPECT_GT(nodes.figures().spilled_pieces, rows / 2);
  expect_file(output);
  for (int n = 0; n < nodes.nodes(); ++n) {
    EXPECT_EQ(nodes.node(n).made.pool.header().spilled_bytes, pool::spill_alignment) << n;   // the header of the file
  }
}

// A step that is spilled, and one that finds room.
TEST_F(FullPools, HandOverInTheOrderInWhichItWasPut) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  const VirtualOutput output = crossing("a");
  VirtualNode& node = nodes.node(output.puts[0].rank);
  pool::Pool& pool = node.made.pool;
  node.made.spill_to(directory_.string(), 4 * base::MiB);
  output.create_working_file();
  pool::Recorder recorder(pool, 0, 30, [] { return std::string(); });
  capture::FullPoolPolicy policy(pool, recorder, 0, calls_);
  store::OutputDescription description = output.description;
  description.share = share(2);
  const pool::OutputKey key = node.describe(recorder, description);
  std::vector<std::uint32_t> taken;
  while (const auto chunk = pool.take_chunk()) taken.push_back(*chunk);

  node.put_step(recorder, policy, WhenFull::spill, key, 0, output, 0);
  for (const auto chunk : taken) pool.drop_reference(chunk);
  const std::uint64_t spilled = policy.figures().spilled_pieces;
  node.put_step(recorder, policy, WhenFull::spill, key, 0, output, 1);

  EXPECT_GT(spilled, rows / 4);
  EXPECT_EQ(policy.figures().spilled_pieces, spilled);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  const std::uint64_t all = 2 * output.puts[0].box.elements(), deadline = base::now_ns() + 30'000'000'000;
  for (std::uint64_t elements = 0; elements < all && base::now_ns() < deadline;) {
    const auto block = node.engine.next_block();
    if (!block) continue;
    EXPECT_EQ(block->first, block->first_element == 0);
    order.emplace_back(block->step, block->first_element);
    elements += block->elements;
    node.engine.answered(*block, drain::Engine::Answer::arrived);
  }
  ASSERT_FALSE(order.empty());
  EXPECT_EQ(order.back().first, 1U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(FullPools, WaitOnTheNodeWhereThereIsNowhereToSpill) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  spill(nodes);
  nodes.node(0).made.spill_to(directory_ / "none", 4 * base::MiB);
  const VirtualOutput output = crossing("a");

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  EXPECT_GT(nodes.figures().spilled_pieces, 0U);   // on the other
  expect_file(output);
}

TEST_F(FullPools, WaitOnTheNodeWhoseBudgetForItIsUsedUp) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  spill(nodes);
  nodes.node(1).made.pool.header().spill_budget_bytes = 32 * base::KiB;
  const VirtualOutput output = crossing("a");

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  EXPECT_LE(nodes.node(1).made.pool.header().spill_high_water_bytes, 32 * base::KiB);
  expect_file(output);
}

// Whichever read it is, and whichever node's: all hear of it, and nothing is published.
TEST_F(FullPools, TellAllNodesThatWhatWasSpilledCannotBeRead) {
  for (const bool fails : {true, false}) {   // or a bit is wrong
    for (const std::size_t from : {0, 1, 7, 40}) {
      SCOPED_TRACE(testing::Message() << "from read " << from << " on");
      const auto reads = [&] { return store::on("pread").from(from); };
      store::FaultyCalls wrong({fails ? reads().fails(EIO) : reads().flips_a_bit()});
      VirtualNodes nodes({1, 1}, share(2), plan(), wrong, 3);
      spill(nodes, 1);   // for the description: all that is sent has been read
      const VirtualOutput output = crossing("a");

      static_cast<void>(nodes.run({output}));

      EXPECT_GT(wrong.count("pread"), from);
      for (int n = 0; n < nodes.nodes(); ++n) {
        pool::Pool& pool = nodes.node(n).made.pool;
        ASSERT_TRUE(wait_until_finished(pool, nodes.node(n).keys)) << n;
        const std::string message = pool::message_of(pool.slot(nodes.node(n).keys[0].slot));
        EXPECT_NE(message.find(fails ? "cannot read" : "is lost"), std::string::npos) << n << message;
      }
      EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
      EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
    }
  }
}

// Its first records are of rows that its own node writes, so none of them tells the other of the put.
TEST_F(FullPools, HearOfAPutThatReachesThemInItsMiddle) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  VirtualOutput output = crossing("a", true);
  output.description.layout.variables[0].record_stride_bytes = 0;   // filled when all has been written
  constexpr std::uint64_t half = rows / 2;
  const int first = output.puts[1].rank;
  output.steps = 1;
  output.puts.clear();
  output.puts.push_back({0, first, 0, mesh::Type::int32, {{rows - 2, 0}, {1, 1024}}});
  output.puts.push_back({0, first, 0, mesh::Type::int32, {{half - 20, 0}, {40, 1024}}});

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  expect_file(output);
}

// Thousands of runs that follow no pattern: each has its own.
TEST_F(FullPools, SendMoreChecksumsThanOneMessageHas) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  VirtualOutput output = crossing("a");
  output.description.checksums = true;
  output.steps = 1;
  const VirtualPut whole[] = {output.puts[0], output.puts[1]};
  output.puts.clear();
  for (const VirtualPut& put : whole) {
    for (std::uint64_t row = 0; row < rows / 2; ++row) {
      for (std::uint64_t x = 0; x < 1020; x += 34) {
        output.puts.push_back({0, put.rank, 0, mesh::Type::int32, {{put.box.start[0] + row, x}, {1, 1 + x % 3}}});
      }
    }
  }

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  expect_file(output);
  expect_sums(output);
  EXPECT_GT(store::read_sidecar(calls_, output.description.names.final_path)->sums.size(), 3000U);
}

// Rows of the own node and of the other by turns, and holes: the own are written by the ranks, and all know which rank has put what.
TEST_F(FullPools, WriteThroughWhatTheirOwnNodeWrites) {
  VirtualNodes nodes({2, 2}, share(2), plan(), calls_, 3);
  nodes.make_pools_full(WhenFull::synchronous, 4);
  VirtualOutput output = crossing("a", true);
  output.description.checksums = true;
  output.steps = 3;
  output.puts.clear();
  for (std::uint64_t step = 0; step < output.steps; ++step) {
    for (int rank = 0; rank < nodes.ranks(); ++rank) {
      output.puts.push_back({step, rank, 0, mesh::Type::float64, {{0, static_cast<std::uint64_t>(rank) * 256}, {rows, 250}}});
    }
  }

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  EXPECT_GT(nodes.figures().synchronous_puts, 0U);
  expect_file(output);
  expect_sums(output, WhenFull::synchronous);
}

TEST_F(FullPools, WaitForWhatAnotherNodeWrites) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  nodes.make_pools_full(WhenFull::synchronous, 4);
  const VirtualOutput output = crossing("a");

  EXPECT_EQ(nodes.run({output}), std::vector<std::string>());

  EXPECT_EQ(nodes.figures().synchronous_puts, 0U);
  expect_file(output);
}

// One has written it itself, and the other's comes as a block.
TEST_F(FullPools, FindWhatIsPutTwiceWhereARankHasWrittenIt) {
  VirtualNodes nodes({1, 1}, share(2), plan(), calls_, 3);
  nodes.make_pools_full(WhenFull::synchronous, 4);
  VirtualOutput output = crossing("a");
  const int first = output.puts[1].rank;   // writes the first half
  output.puts = {{0, first, 0, mesh::Type::int32, {{0, 0}, {40, 1024}}}, {1, 1 - first, 0, mesh::Type::int32, {{0, 0}, {1, 1024}}},
                 {1, first, 0, mesh::Type::int32, {{0, 0}, {40, 1024}}}};

  static_cast<void>(nodes.run({output}));

  EXPECT_GT(nodes.figures().synchronous_puts, 0U);
  for (int n = 0; n < nodes.nodes(); ++n) {
    pool::Pool& pool = nodes.node(n).made.pool;
    ASSERT_TRUE(wait_until_finished(pool, nodes.node(n).keys)) << n;
    const pool::OutputSlot& slot = pool.slot(nodes.node(n).keys[0].slot);
    EXPECT_EQ(slot.error.load(), 1 + static_cast<std::uint32_t>(base::Errc::overlap)) << n << pool::message_of(slot);
  }
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
}

// --- whatever nodes there are, and whatever puts do when a pool is full

class FullPoolsOf : public FullPools, public testing::WithParamInterface<std::tuple<unsigned, WhenFull>> {};

TEST_P(FullPoolsOf, RandomNodesMakeTheSameFiles) {
  const auto [seed, full] = GetParam();
  std::mt19937 random(seed);
  std::vector<int> ranks(2 + random() % 3);
  for (int& count : ranks) count = 1 + static_cast<int>(random() % 2);
  VirtualNodes nodes(ranks, share(static_cast<std::int64_t>(ranks.size())), plan(), calls_, 1 + seed);
  spill(nodes, 4 + static_cast<int>(random() % 4), full);
  std::vector<VirtualOutput> outputs;
  for (int o = 0; o < 3; ++o) {
    outputs.push_back(VirtualOutput::random(random, nodes.ranks(), 2 + random() % 6, directory_ / ("f" + std::to_string(o))));
    outputs.back().description.checksums = o != 0;
  }

  EXPECT_EQ(nodes.run(outputs), std::vector<std::string>());

  for (const auto& output : outputs) {
    expect_file(output);
    expect_sums(output, full);
  }
  for (int n = 0; n < nodes.nodes(); ++n) EXPECT_LE(nodes.node(n).made.pool.header().spilled_bytes, 2 * pool::spill_alignment) << n;
}

INSTANTIATE_TEST_SUITE_P(Seeds, FullPoolsOf,
                         testing::Combine(testing::Range(1U, 13U), testing::Values(WhenFull::spill, WhenFull::synchronous)));

}  // namespace
}  // namespace glean::tests::exchange_full_pool_test
