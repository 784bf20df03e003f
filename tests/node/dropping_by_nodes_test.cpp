// SPDX-License-Identifier: BSD-3-Clause
//
// Several nodes that drop steps: what every node keeps is the file, whatever each of them finds, and however late they hear of it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <csignal>
#include <filesystem>
#include <map>
#include <new>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "service/recovery_of_nodes.hpp"
#include "virtual_nodes.hpp"
#include "capture/dropping.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests {
namespace {

bool has_records(const VirtualOutput& output) {
  const auto& variables = output.description.layout.variables;
  return std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.per_step(); });
}

// Threads play ranks of nodes that have room, or not, as chance will have it.
class DroppingNodes {
 public:
  DroppingNodes(const std::vector<int>& ranks, const plan::FileShare& share, store::SystemCalls& calls, unsigned seed)
      : share_(share), seed_(seed), network_(static_cast<int>(ranks.size()), seed),
        all_(std::accumulate(ranks.begin(), ranks.end(), std::ptrdiff_t{0})) {
    plan::NodePlan plan = pool::small_plan();
    plan.pool_bytes = 4 * base::MiB;
    plan.journal_bytes_per_rank = 128 * base::KiB;
    for (int n = 0; n < static_cast<int>(ranks.size()); ++n) {
      const int count = ranks[static_cast<std::size_t>(n)];
      const pool::NodeShare share_of_node{"dropping", static_cast<int>(ranks.size()), n};
      nodes_.push_back(std::make_unique<VirtualNode>(plan, count, ranks_, share_of_node, network_, calls));
      ranks_ += count;
    }
  }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<std::unique_ptr<VirtualNode>>& nodes() const { return nodes_; }
  [[nodiscard]] pool::OutputSlot& slot(std::size_t node, std::size_t output) const {
    return nodes_[node]->made.pool.slot(nodes_[node]->keys[output].slot);
  }
  // As every node's ranks have decided.
  [[nodiscard]] std::vector<std::uint64_t> kept_by_all(std::size_t output, std::uint64_t steps) const {
    std::vector<std::uint64_t> kept;
    for (std::uint64_t step = 0; step < steps; ++step) {
      bool all = true;
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        all = all && pool::Decision::of(slot(n, output).decisions[step % 64]).what == pool::DropDecision::keep;
      }
      if (all) kept.push_back(step);
    }
    return kept;
  }

  // What ranks have done, where no kill takes it back.
  struct Witness {
    static constexpr std::size_t outputs = 4, ranks = 8, steps = 16;
    std::atomic<std::uint32_t> begun = 0;   // there are pools
    std::array<std::array<std::atomic<std::uint32_t>, ranks>, outputs> ending{}, ended{};
    std::array<std::array<std::array<std::atomic<std::uint32_t>, steps>, ranks>, outputs> would_drop{};   // by any rank's node
  };
  void tell(Witness* witness) { witness_ = witness; }

  void run(const std::vector<VirtualOutput>& outputs, unsigned one_of) {
    for (const auto& output : outputs) output.create_working_file();
    std::vector<std::thread> threads;
    for (auto& node : nodes_) {
      for (int rank = 0; rank < static_cast<int>(node->made.pool.header().ranks); ++rank) {
        threads.emplace_back([&, rank] { run_rank(*node, rank, outputs, one_of); });
      }
    }
    for (auto& thread : threads) thread.join();
  }

 private:
  void run_rank(VirtualNode& node, int rank, const std::vector<VirtualOutput>& outputs, unsigned one_of) {
    const bool leads = rank == 0;
    const auto move_on = [&] { return leads && node.exchange.progress(); };
    pool::Pool& pool = node.made.pool;
    std::mt19937 random(seed_ + static_cast<unsigned>(node.first_rank + rank));
    pool::Recorder recorder(pool, rank, 60, [] { return std::string(); }, move_on);
    for (std::size_t o = 0; leads && o < outputs.size(); ++o) {
      store::OutputDescription description = outputs[o].description;
      description.share = share_;
      node.keys.push_back(node.describe(recorder, description));
      pool.slot(node.keys.back().slot).job_output = o + 1;
    }
    all_.arrive_and_wait();
    std::vector<bool> keeps(outputs.size(), true);
    for (std::uint64_t step = 0; step < 40; ++step) {
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (step >= outputs[o].steps) continue;
        if (outputs[o].description.nodes_drop && (step == 0 || has_records(outputs[o]))) {
          pool.header().hurry = random() % one_of == 0 ? 1 : 0;
          keeps[o] = capture::keep_step(pool, rank, {node.keys[o], step, 4096}, 60, [] { return std::string(); }, move_on);
        }
        const auto job_rank = static_cast<std::size_t>(node.first_rank + rank);
        if (witness_ != nullptr) {
          const auto what = pool::Decision::of(pool.slot(node.keys[o].slot).decisions[step % 64]).what;
          witness_->would_drop[o][job_rank][step] = what == pool::DropDecision::drop ? 1 : 0;
          witness_->ending[o][job_rank] = static_cast<std::uint32_t>(step + 1);
        }
        if (keeps[o]) node.put_step(recorder, node.keys[o], rank, outputs[o], step);
        else VirtualRanks(node.made).report(recorder, node.keys[o], rank, static_cast<std::uint32_t>(step + 1));
        if (witness_ != nullptr) witness_->ended[o][job_rank] = static_cast<std::uint32_t>(step + 1);
        move_on();
        if (random() % 4 == 0) usleep(static_cast<useconds_t>(random() % 2000));
      }
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) node.close(recorder, node.keys[o], rank, outputs[o]);
    const std::uint64_t deadline = base::now_ns() + 60'000'000'000;
    for (std::size_t o = 0; leads && o < outputs.size(); ++o) {
      while (pool.slot(node.keys[o].slot).job_output != 0 && base::now_ns() < deadline) {
        if (!move_on()) usleep(100);
      }
    }
  }

  plan::FileShare share_;
  unsigned seed_;
  Witness* witness_ = nullptr;
  transport::LocalNetwork network_;
  std::barrier<> all_;
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
  int ranks_ = 0;
};

std::vector<std::string> pool_names_of(pid_t process) {
  std::vector<std::string> names;
  const std::string prefix = "glean-test." + std::to_string(process) + ".";
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) names.push_back("/" + name);
  }
  return names;
}

plan::FileShare share_of(std::int64_t nodes) {
  return {.machine = plan::plain_machine(nodes), .nodes = nodes, .window_bytes = 4 * base::KiB, .request_bytes = 4 * base::KiB};
}

class DroppingOf : public testing::TestWithParam<unsigned> {};

TEST_P(DroppingOf, RandomOutputsLeavesTheFileOfWhatAllNodesKeep) {
  std::mt19937 random(GetParam());
  std::vector<int> ranks(2 + random() % 4);
  for (int& count : ranks) count = 1 + static_cast<int>(random() % 3);
  const store::TemporaryDirectory directory;
  store::SystemCalls calls;
  DroppingNodes nodes(ranks, share_of(static_cast<std::int64_t>(ranks.size())), calls, GetParam());
  std::vector<VirtualOutput> outputs;
  for (int o = 0; o < 4; ++o) {
    outputs.push_back(VirtualOutput::random(random, nodes.ranks(), random() % 16, directory / ("f" + std::to_string(o))));
    outputs.back().description.nodes_drop = o != 3;   // that one is none of those that do
  }

  nodes.run(outputs, GetParam() % 4 == 0 ? 3 : 15);

  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const VirtualOutput& output = outputs[o];
    SCOPED_TRACE(output.description.display_path + " of " + std::to_string(output.steps) + " steps");
    std::vector<std::uint64_t> kept(output.steps);
    std::iota(kept.begin(), kept.end(), std::uint64_t{0});
    if (output.description.nodes_drop && has_records(output)) kept = nodes.kept_by_all(o, output.steps);
    else if (output.description.nodes_drop && output.steps != 0 && nodes.kept_by_all(o, 1).empty()) kept.clear();
    const bool is_dropped = output.steps != 0 && kept.empty();
    EXPECT_EQ(bytes_of_file(output.description.names.final_path),
              is_dropped ? std::nullopt : std::optional(output.file_of(kept)));
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
    for (std::size_t n = 0; n < ranks.size(); ++n) {
      EXPECT_EQ(nodes.slot(n, o).state.load(), is_dropped ? pool::OutputState::abandoned : pool::OutputState::published) << n;
      EXPECT_EQ(nodes.slot(n, o).error.load(), 0u) << pool::message_of(nodes.slot(n, o));
      if (output.description.nodes_drop && has_records(output)) {
        EXPECT_EQ(pool::last_kept(nodes.slot(n, o)), kept) << n;
      }
    }
  }
  for (const auto& node : nodes.nodes()) {
    EXPECT_LE(node->made.pool.header().used_chunks, node->made.pool.header().ranks);
    for (const drain::OutputTrace& trace : node->engine.trace().outputs) {
      const auto output = std::find_if(outputs.begin(), outputs.end(),
                                       [&](const auto& each) { return each.description.display_path == trace.path; });
      EXPECT_EQ(trace.state == "dropped" ? 0 : trace.steps, output->steps - trace.steps_dropped) << trace.path;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DroppingOf, testing::Range(1U, 17U));

// --- the same, killed at any moment

class KilledDropping : public testing::TestWithParam<unsigned> {};

TEST_P(KilledDropping, LeavesTheFileOfWhatAllNodesKeptOfTheStepsThatAllHadEnded) {
  using Witness = DroppingNodes::Witness;
  std::mt19937 random(GetParam());
  std::vector<int> ranks(2 + random() % 3);
  for (int& count : ranks) count = 1 + static_cast<int>(random() % 2);
  const auto all_ranks = static_cast<std::size_t>(std::accumulate(ranks.begin(), ranks.end(), 0));
  const store::TemporaryDirectory directory;
  std::vector<VirtualOutput> outputs;
  for (std::size_t o = 0; o < Witness::outputs; ++o) {
    outputs.push_back(VirtualOutput::random(random, static_cast<int>(all_ranks), 4 + random() % 12, directory / ("f" + std::to_string(o))));
    outputs.back().description.nodes_drop = true;
  }
  void* const memory = mmap(nullptr, sizeof(Witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const witness = new (memory) Witness;
  const pid_t child = fork();
  if (child == 0) {
    store::SystemCalls calls;
    DroppingNodes nodes(ranks, share_of(static_cast<std::int64_t>(ranks.size())), calls, GetParam());
    nodes.tell(witness);
    witness->begun = 1;
    nodes.run(outputs, 15);
    for (;;) pause();
  }
  while (witness->begun == 0) usleep(100);
  usleep(static_cast<useconds_t>(random() % 150'000));
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);

  const std::vector<std::string> pools = pool_names_of(child);
  store::SystemCalls calls;
  std::map<std::string, drain::OutputTrace> traces;
  for (const auto& pool : service::recover_nodes(pools, *service::nobody_else(), calls, [] {})) {
    EXPECT_EQ(pool.problem, "");
    for (const drain::OutputTrace& trace : pool.recovered.outputs) traces[trace.path] = trace;
  }

  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const VirtualOutput& output = outputs[o];
    SCOPED_TRACE(output.description.display_path);
    std::uint64_t ended = output.steps, ending = output.steps;
    for (std::size_t rank = 0; rank < all_ranks; ++rank) {
      ended = std::min<std::uint64_t>(ended, witness->ended[o][rank]);
      ending = std::min<std::uint64_t>(ending, witness->ending[o][rank]);
    }
    const bool is_known = traces.contains(output.description.display_path);   // otherwise it was over, or not begun
    drain::OutputTrace trace;
    trace.state = "over";
    trace.steps = ended;
    if (is_known) trace = traces[output.description.display_path];
    const std::uint64_t steps = trace.steps + trace.steps_dropped;
    if (trace.state == "failed") {
      EXPECT_EQ(ended, 0u) << trace.note;
      continue;
    }
    EXPECT_GE(steps, ended) << trace.state;
    EXPECT_LE(steps, ending) << trace.state;
    std::vector<std::uint64_t> kept;
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::uint64_t decisive = has_records(output) ? step : 0;
      const auto drops = [&](const auto& of_rank) { return of_rank[decisive] != 0; };
      if (std::none_of(witness->would_drop[o].begin(), witness->would_drop[o].end(), drops)) kept.push_back(step);
    }
    if (trace.state == "over" && ended != output.steps) continue;
    EXPECT_EQ(bytes_of_file(output.description.names.final_path),
              kept.empty() ? std::nullopt : std::optional(output.file_of(kept))) << trace.state << " " << steps;
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  }
  for (const std::string& name : pools) shm_unlink(name.c_str());
  munmap(memory, sizeof(Witness));
}

INSTANTIATE_TEST_SUITE_P(Seeds, KilledDropping, testing::Range(1U, 31U));

// --- two nodes of one rank each, and messages only when a test says so

class TwoThatDrop : public testing::Test {
 protected:
  static constexpr int count = 2;
  static constexpr std::uint64_t steps = 3, rows = 16;

  TwoThatDrop() {
    output_.steps = steps;
    output_.description.names = {directory_ / "f.part", directory_ / "f"};
    output_.description.display_path = output_.description.names.final_path;
    output_.description.nodes_drop = true;
    output_.description.share = share_of(count);
    auto& layout = output_.description.layout;
    layout.header_bytes = 4096;
    layout.variables.push_back({"v", mesh::Type::int32, {rows, 1024}, 4096, rows * 4096, false, {}});
    // Each node puts every second row, of its own domains and of the other's.
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (std::uint64_t row = 0; row < rows; ++row) {
        output_.puts.push_back({step, static_cast<int>(row % count), 0, mesh::Type::int32, {{row, 0}, {1, 1024}}});
      }
    }
    output_.create_working_file();
    for (int n = 0; n < count; ++n) {
      nodes_.push_back(std::make_unique<VirtualNode>(pool::small_plan(), 1, n, pool::NodeShare{"two", count, n}, network_, calls_));
      recorders_.push_back(std::make_unique<pool::Recorder>(pool(n), 0, 30, [] { return std::string(); }));
      keys_.push_back(node(n).describe(recorder(n), output_.description));
      slot(n).job_output = 1;
    }
  }

  VirtualNode& node(int n) { return *nodes_[static_cast<std::size_t>(n)]; }
  pool::Pool& pool(int n) { return node(n).made.pool; }
  pool::Recorder& recorder(int n) { return *recorders_[static_cast<std::size_t>(n)]; }
  pool::OutputSlot& slot(int n) { return pool(n).slot(keys_[static_cast<std::size_t>(n)].slot); }

  void step(int n, std::uint64_t step, bool keep) {
    const auto key = keys_[static_cast<std::size_t>(n)];
    pool(n).header().hurry = keep ? 0 : 1;
    ASSERT_EQ(capture::keep_step(pool(n), 0, {key, step, 4096}, 1, [] { return std::string(); }), keep);
    if (keep) node(n).put_step(recorder(n), key, 0, output_, step);
    else VirtualRanks(node(n).made).report(recorder(n), key, 0, static_cast<std::uint32_t>(step + 1));
  }
  void close(int n) { node(n).close(recorder(n), keys_[static_cast<std::size_t>(n)], 0, output_); }
  template <class Condition>
  void progress_until(Condition holds) {
    const std::uint64_t deadline = base::now_ns() + 30'000'000'000;
    do {
      for (int n = 0; n < count; ++n) node(n).exchange.progress();
      usleep(100);
      if (base::now_ns() > deadline) FAIL() << "nothing comes of it: " << node(0).exchange.diagnose();
    } while (!holds());
  }
  void finish() {
    for (int n = 0; n < count; ++n) close(n);
    progress_until([&] { return !node(0).exchange.holds_any() && !node(1).exchange.holds_any(); });
    for (int n = 0; n < count; ++n) ASSERT_TRUE(wait_until_finished(pool(n), {keys_[static_cast<std::size_t>(n)]})) << n;
  }
  std::uintmax_t bytes_written() { return std::filesystem::file_size(output_.description.names.working_path); }

  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
  transport::LocalNetwork network_{count};
  VirtualOutput output_;
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
  std::vector<std::unique_ptr<pool::Recorder>> recorders_;
  std::vector<pool::OutputKey> keys_;
};

// Nothing of a step leaves its node, or comes into the file, before all have decided; what was kept in vain is given back.
TEST_F(TwoThatDrop, TheOneThatKeptAStepGivesItBackWhenTheOtherHasNot) {
  const std::uint32_t before = pool(1).header().used_chunks;
  step(1, 0, true);
  while (node(1).exchange.progress()) {}
  EXPECT_GT(pool(1).header().used_chunks.load(), before);
  EXPECT_EQ(slot(1).steps_staged.load(), 0u);
  EXPECT_EQ(bytes_written(), 4096u);

  step(0, 0, false);
  progress_until([&] { return slot(1).steps_written.load() == 1 && slot(0).steps_written.load() == 1; });
  EXPECT_LE(pool(1).header().used_chunks.load(), before + 1) << "but for the chunk that its rank fills";
  EXPECT_EQ(bytes_written(), 4096u) << "the step is not in the file";

  for (const int n : {0, 1}) step(n, 1, true);
  for (const int n : {1, 0}) step(n, 2, n == 1);
  finish();
  EXPECT_EQ(bytes_of_file(output_.description.names.final_path), output_.file_of({1}));
}

// The control: with the same decisions taken alike the file has all steps.
TEST_F(TwoThatDrop, KeepEverythingWhereBothHaveRoom) {
  for (std::uint64_t s = 0; s < steps; ++s) {
    for (const int n : {0, 1}) step(n, s, true);
  }
  finish();
  EXPECT_EQ(bytes_of_file(output_.description.names.final_path), output_.file());
}

// Nodes that are not at the same step: what one has kept of many waits for the other's word about each.
TEST_F(TwoThatDrop, OneMayBeAheadByManySteps) {
  for (std::uint64_t s = 0; s < steps; ++s) step(1, s, s != 1);
  close(1);
  while (node(1).exchange.progress()) {}
  EXPECT_EQ(slot(1).steps_staged.load(), 0u);

  for (std::uint64_t s = 0; s < steps; ++s) step(0, s, s != 0);
  finish();
  EXPECT_EQ(bytes_of_file(output_.description.names.final_path), output_.file_of({2}));
  EXPECT_EQ(pool::verdict_of(slot(0)).kept, 1u);
}

// The program may begin the next file of that name as soon as node 0 is through.
TEST_F(TwoThatDrop, LeaveNoFileWhereAllStepsAreDroppedAndNode0AloneRemovesIt) {
  for (std::uint64_t s = 0; s < steps; ++s) {
    step(0, s, s != 0);
    step(1, s, s == 0);
  }
  for (int n = 0; n < count; ++n) close(n);
  progress_until([&] { return slot(0).state.load() == pool::OutputState::abandoned; });
  output_.create_working_file();
  progress_until([&] { return !node(0).exchange.holds_any() && !node(1).exchange.holds_any(); });
  ASSERT_TRUE(wait_until_finished(pool(1), {keys_[1]}));

  EXPECT_TRUE(std::filesystem::exists(output_.description.names.working_path));
  EXPECT_FALSE(std::filesystem::exists(output_.description.names.final_path));
  for (int n = 0; n < count; ++n) {
    EXPECT_EQ(slot(n).state.load(), pool::OutputState::abandoned);
    EXPECT_EQ(node(n).engine.trace().outputs.at(0).state, "dropped");
    EXPECT_EQ(node(n).engine.trace().outputs.at(0).steps_dropped, std::uint64_t{steps});
    EXPECT_LE(pool(n).header().used_chunks.load(), 1u);
  }
}

// A failure of what is held gives everything back, too.
TEST_F(TwoThatDrop, GiveBackWhatIsHeldOfAnOutputThatFails) {
  step(1, 0, true);
  step(1, 1, true);
  // As in a session: no output fails before all nodes have opened its file.
  progress_until([&] { return slot(0).working_inode.load() != 0 && slot(1).working_inode.load() != 0; });
  pool::fail(slot(1), static_cast<std::uint32_t>(base::Errc::no_space), "the disk is full", "");
  for (const int n : {0, 1}) close(n);
  progress_until([&] { return !node(0).exchange.holds_any() && !node(1).exchange.holds_any(); });
  ASSERT_TRUE(wait_until_finished(pool(1), {keys_[1]}));

  EXPECT_EQ(pool::message_of(slot(0)), "the disk is full");
  EXPECT_LE(pool(1).header().used_chunks.load(), 1u);
}

}  // namespace
}  // namespace glean::tests
