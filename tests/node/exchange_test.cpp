// SPDX-License-Identifier: BSD-3-Clause
#include "nodes/exchange.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "virtual_nodes.hpp"

namespace glean::tests::exchange_test {

namespace {

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "glean-exchange-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

plan::NodePlan plan_of_a_node(std::mt19937& random) {
  plan::NodePlan plan = pool::small_plan();
  plan.chunk_bytes = random() % 2 == 0 ? 4 * base::KiB : 32 * base::KiB;   // one put touches many windows
  plan.request_bytes = 4 * base::KiB;
  plan.drain_threads = 2;
  return plan;
}

plan::FileShare random_share(std::mt19937& random, std::int64_t nodes) {
  const auto small = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  plan::FileShare share{.machine = plan::plain_machine(nodes), .nodes = nodes, .request_bytes = 4 * base::KiB};
  share.window_bytes = static_cast<Bytes>(small(3)) * share.request_bytes;
  if (random() % 2 == 0) {   // groups with one way out at either end, which is closer to some
    const int of_group = 2 + small(4), groups = (static_cast<int>(nodes) - 1) / of_group + 1;
    share.machine.network = topology::Torus{.extents = {of_group * groups}, .wraps = {false}};
    share.machine.way_out = {.group_extents = {of_group}, .gateways = {{0}, {of_group - 1}}};
    share.machine.way_out.default_gateway.assign(static_cast<std::size_t>(of_group), static_cast<int>(random() % 2));
    share.aggregators = small(of_group);
  } else {
    share.machine.way_out.nodes_per_group = small(4);
    share.aggregators = small(static_cast<int>(share.machine.way_out.nodes_per_group));
  }
  return share;
}

// Whatever nodes there are, and whichever of them write: the file is the one that a single writer would have made.
class ExchangeOf : public testing::TestWithParam<unsigned> {};

TEST_P(ExchangeOf, RandomOutputsMakesTheSameFiles) {
  std::mt19937 random(GetParam());
  std::vector<int> ranks(2 + random() % 4);
  for (int& count : ranks) count = static_cast<int>(random() % 4);   // none: it writes what others have put
  ranks[random() % ranks.size()] = 1;
  Directory directory;
  store::SystemCalls calls;
  plan::FileShare share = random_share(random, static_cast<std::int64_t>(ranks.size()));
  share.publisher = static_cast<std::int64_t>(random() % ranks.size());
  const auto blocks = random() % 2 == 0 ? VirtualNodes::Blocks::apart : VirtualNodes::Blocks::with_the_rest;
  VirtualNodes nodes(ranks, share, plan_of_a_node(random), calls, 1 + GetParam(), blocks);
  std::vector<VirtualOutput> outputs;
  for (int o = 0; o < 3; ++o) {
    outputs.push_back(VirtualOutput::random(random, nodes.ranks(), random() % 6, directory.file("f" + std::to_string(o))));
  }

  EXPECT_EQ(nodes.run(outputs), std::vector<std::string>());

  for (const auto& output : outputs) {
    EXPECT_EQ(bytes_of_file(output.description.names.final_path), output.file()) << output.description.display_path;
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  }
  for (int n = 0; n < nodes.nodes(); ++n) EXPECT_LE(nodes.node(n).made.pool.header().used_chunks, 1u) << n;
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExchangeOf, testing::Range(1U, 21U));

// --- two nodes of one rank each, which do exactly what a test says: messages move only when it says so

constexpr std::uint64_t rows_of_two = 40;

plan::NodePlan plan_with_journals_of(Bytes bytes) {
  plan::NodePlan plan = pool::small_plan();
  plan.journal_bytes_per_rank = bytes;
  return plan;
}

class TwoNodes : public testing::Test {
 protected:
  explicit TwoNodes(int count = 2) : nodes(count) {}

  void start(const plan::NodePlan& plan_of_root = pool::small_plan()) {
    for (int n = 0; n < nodes; ++n) {
      nodes_.push_back(std::make_unique<VirtualNode>(n == 0 ? plan_of_root : pool::small_plan(), 1, n,
                                                     pool::NodeShare{"two", nodes, n}, network_, calls_));
      recorders_.push_back(std::make_unique<pool::Recorder>(node(n).made.pool, 0, 30, [] { return std::string(); }));
      keys_.emplace_back();
    }
  }

  // Rows of one window each.
  VirtualOutput rows_put_by(const std::function<int(int owner)>& putter) {
    VirtualOutput output;
    output.steps = 1;
    output.description.names = {directory_.file("f.part"), directory_.file("f")};
    output.description.display_path = output.description.names.final_path;
    auto& layout = output.description.layout;
    layout.header_bytes = row_bytes_;
    layout.variables.push_back({"v", mesh::Type::int32, {rows_of_two, row_bytes_ / 4}, row_bytes_, 0, false, {}});
    output.description.share = {.machine = plan::plain_machine(nodes), .nodes = nodes, .window_bytes = row_bytes_,
                                .request_bytes = row_bytes_};
    plan::FileWriters writers(output.description.share, extents_of(layout));
    for (std::uint64_t row = 0; row < rows_of_two; ++row) {
      output.puts.push_back({0, putter(static_cast<int>(writers.node_of(row + 1))), 0, mesh::Type::int32,
                             {{row, 0}, {1, row_bytes_ / 4}}});
    }
    output.create_working_file();
    return output;
  }
  static int its_owner(int owner) { return owner; }
  static int the_other(int owner) { return 1 - owner; }

  VirtualNode& node(int n) { return *nodes_[static_cast<std::size_t>(n)]; }
  pool::OutputKey& key(int n) { return keys_[static_cast<std::size_t>(n)]; }
  pool::Recorder& recorder(int n) { return *recorders_[static_cast<std::size_t>(n)]; }
  pool::OutputSlot& slot(int n) { return node(n).made.pool.slot(key(n).slot); }

  void describe(int n, const VirtualOutput& output) { key(n) = node(n).describe(recorder(n), output.description); }
  // Node 0 calls it by its slot and generation, which both nodes have alike here.
  void add(int n) {
    slot(n).nodes.job_output = job_output(n);
    node(n).exchange.progress();
  }
  std::uint64_t job_output(int n) { return std::uint64_t{key(n).generation} << 32 | key(n).slot; }
  void put_and_close(int n, const VirtualOutput& output) {
    node(n).put_step(recorder(n), key(n), 0, output, 0);
    node(n).close(recorder(n), key(n), 0, output);
  }

  template <class Condition>
  void progress_until(const std::vector<int>& nodes, Condition holds) {
    const std::uint64_t deadline = base::now_ns() + 30'000'000'000;
    while (!holds()) {
      bool moved = false;
      for (const int n : nodes) moved = node(n).exchange.progress() || moved;
      if (!moved) usleep(100);
      if (base::now_ns() > deadline) FAIL() << "nothing comes of it: " << node(0).exchange.diagnose();
    }
  }
  // All that the node has to say as long as it hears nothing, and what it makes of what it has heard.
  void say_all(int n) {
    while (node(n).exchange.progress()) {}
  }
  void finish() {
    progress_until({0, 1}, [&] { return !node(0).exchange.holds_any() && !node(1).exchange.holds_any(); });
    for (int n = 0; n < nodes; ++n) ASSERT_TRUE(wait_until_finished(node(n).made.pool, {key(n)})) << n;
  }
  // As a session does when all ranks know of the end: the next output has the same slot.
  void free_slots() {
    for (int n = 0; n < nodes; ++n) slot(n).state = pool::OutputState::free;
  }

  const int nodes;
  Directory directory_;
  store::SystemCalls calls_;
  transport::LocalNetwork network_{nodes};
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
  std::vector<std::unique_ptr<pool::Recorder>> recorders_;
  std::vector<pool::OutputKey> keys_;
  Bytes row_bytes_ = pool::small_plan().request_bytes;
};

// The receiving drain is kept from reading its journals by a description that is not complete.
TEST_F(TwoNodes, DoNotWaitWhereTheJournalOfWhatIsReceivedIsFull) {
  start(plan_with_journals_of(sizeof(pool::Journal) + 256));   // room for two records of 128 bytes, of which one is promised
  const VirtualOutput output = rows_put_by(the_other);
  describe(1, output);
  key(0) = node(0).made.claim_slot();
  recorder(0).describe(key(0), output.description.encode_names(), pool::Recorder::More::follow);
  for (const int n : {1, 0}) add(n);
  put_and_close(1, output);
  pool::Pool& pool = node(0).made.pool;
  const pool::Journal& journal = pool.journal(1);

  progress_until({1, 0}, [&] { return journal.is_full.load() != 0; });
  say_all(0);

  EXPECT_EQ(pool.header().waiting_for_space.load(), 1u);
  EXPECT_GT(journal.head.load(), 0u);
  EXPECT_LE(journal.head.load(), pool.ring_bytes());
  EXPECT_NE(node(0).exchange.diagnose(), "");
  recorder(0).describe(key(0), output.description.encode_layout(), pool::Recorder::More::none);
  std::thread rank([&] { put_and_close(0, output); });   // its own journal is as small, and its puts wait for it
  finish();
  rank.join();
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), output.file());
  EXPECT_EQ(pool.header().waiting_for_space.load(), 0u);
}

// One node has opened, put and closed before the other has added the output. Every time it is the same slot.
TEST_F(TwoNodes, HearOfOutputsThatTheyAreJustOpening) {
  start();
  for (const int early : {1, 0, 1, 0}) {
    for (const auto putter : {its_owner, the_other}) {
      SCOPED_TRACE(testing::Message() << "node " << early << " is early" << (putter == its_owner ? "" : " and sends blocks"));
      const int late = 1 - early;
      const VirtualOutput output = rows_put_by(putter);
      describe(early, output);
      add(early);
      put_and_close(early, output);
      // After that it says nothing by itself that it has said before.
      progress_until({early}, [&] {
        return putter == its_owner ? slot(early).nodes.steps_sent.load() == 1 : node(early).exchange.is_moving();
      });
      say_all(early);
      say_all(late);

      describe(late, output);
      ASSERT_EQ(job_output(late), job_output(early));
      add(late);
      put_and_close(late, output);
      finish();

      ASSERT_EQ(bytes_of_file(output.description.names.final_path), output.file());
      free_slots();
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(TwoNodes, HearOfFailuresOfOutputsThatTheyAreJustOpening) {
  start();
  for (const int early : {1, 0, 1, 0}) {
    SCOPED_TRACE(testing::Message() << "node " << early << " is early");
    const int late = 1 - early;
    const VirtualOutput output = rows_put_by(its_owner);
    describe(early, output);
    add(early);
    pool::fail(slot(early), static_cast<std::uint32_t>(base::Errc::no_space), "the disk is full", "");
    put_and_close(early, output);
    say_all(early);
    say_all(late);

    describe(late, output);
    add(late);
    put_and_close(late, output);
    finish();

    EXPECT_EQ(pool::message_of(slot(late)), "the disk is full");
    EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
    free_slots();
    if (HasFatalFailure()) return;
  }
}

class ThreeNodes : public TwoNodes {
 protected:
  ThreeNodes() : TwoNodes(3) {}
};

TEST_F(ThreeNodes, TellOfAFailureWhenItsReasonIsSaid) {
  start();
  const VirtualOutput output = rows_put_by(its_owner);
  for (int n = 0; n < nodes; ++n) describe(n, output);
  for (int n = 0; n < nodes; ++n) add(n);
  // None meets that the file of one that has failed is gone.
  progress_until({}, [&] { return slot(0).working_inode != 0 && slot(1).working_inode != 0 && slot(2).working_inode != 0; });
  slot(0).error_claimed = 1;   // the drain of the root is about to say it
  pool::fail(slot(1), static_cast<std::uint32_t>(base::Errc::no_space), "on node 1", "");
  for (const int n : {1, 0, 2}) say_all(n);
  EXPECT_EQ(slot(2).error, 0U);

  std::strcpy(slot(0).message.data(), "on node 0");
  slot(0).error = static_cast<std::uint32_t>(base::Errc::io) + 1;
  for (const int n : {0, 2}) say_all(n);
  EXPECT_EQ(pool::message_of(slot(2)), "on node 0");
  EXPECT_EQ(slot(2).error, static_cast<std::uint32_t>(base::Errc::io) + 1);
}

// What is still on its way when an output is over is not taken for the next one's of its slot, nor waits for it.
TEST_F(TwoNodes, TakeNothingForAnotherGenerationOfItsSlot) {
  start();
  const VirtualOutput output = rows_put_by(the_other);
  const auto write = [&] {
    for (const int n : {1, 0}) {
      describe(n, output);
      add(n);
      put_and_close(n, output);
    }
    finish();
    EXPECT_EQ(bytes_of_file(output.description.names.final_path), output.file());
    free_slots();
  };
  write();
  nodes::BlockHead late;
  late.number = 1'000'000;   // no block's that is waited for
  late.job_output = job_output(0);
  late.memory_type = static_cast<std::uint8_t>(mesh::Type::int32);
  late.elements = 1;
  late.body_bytes = 4;
  const std::array<std::byte, 4> body{};
  const nodes::ProgressHead progress{.job_output = late.job_output, .progress = {.steps_ended = 9, .closed = 1, .part_durable = 1}};

  node(1).messages->send(0, bytes_of(late), body, 1'000'000);
  node(1).messages->send(0, bytes_of(progress));
  say_all(0);

  EXPECT_FALSE(node(0).exchange.is_moving());
  output.create_working_file();
  write();
  for (int n = 0; n < nodes; ++n) EXPECT_LE(node(n).made.pool.header().used_chunks, 2u) << n;
}

}  // namespace
}  // namespace glean::tests::exchange_test
