// SPDX-License-Identifier: BSD-3-Clause
//
// Compute nodes that write nothing, and stagers that write for them, all in one process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "nodes/node_progress.hpp"
#include "pool/futex.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "service/recovery.hpp"
#include "service/staged_job.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"
#include "virtual_nodes.hpp"

namespace glean::tests::staging_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t limit_ns = 60'000'000'000;

class Staging : public testing::Test {
 protected:
  ~Staging() override {
    for (const auto& job : jobs_) job->end_soon();   // where the test has failed
  }

  // The nodes; `ranks[n]` of each.
  void start(const std::vector<int>& ranks, int stagers, unsigned seed = 0) {
    clients_ = static_cast<int>(ranks.size());
    const int nodes = clients_ + stagers;
    network_ = std::make_unique<transport::LocalNetwork>(nodes, seed, stagers);
    share_ = {.machine = plan::plain_machine(stagers), .nodes = stagers, .first = clients_, .window_bytes = 4 * base::KiB,
              .request_bytes = 4 * base::KiB, .publisher = clients_};
    for (int stager = 0; stager < stagers; ++stager) {
      const int self = clients_ + stager;
      jobs_.push_back(std::make_unique<service::StagedJob>(
          service::StagedJob::make_pool({"a test", pool::roomy_plan()}, {"staged", nodes, self, stagers}),
          service::StagedJob::Begins::as_first_one, std::vector{directory()}, false, network_->messages(self)));
      over_.push_back(std::async(std::launch::async, [job = jobs_.back().get()] { return job->run(); }));
    }
    int first = 0;
    for (int node = 0; node < clients_; ++node) {
      const int of_node = ranks[static_cast<std::size_t>(node)];
      nodes_.push_back(std::make_unique<VirtualNode>(pool::roomy_plan(), of_node, first, pool::NodeShare{"staged", nodes, node, stagers},
                                                     *network_, calls_));
      first += of_node;
    }
  }
  [[nodiscard]] std::string directory() const { return fs::canonical(directory_ / ".").string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return directory() + "/" + name; }

  // On all clients; the first one asks the stagers.
  void open(const VirtualOutput& output, std::uint64_t job_output, const std::string& final_path) {
    for (const auto& node : nodes_) {
      pool::Recorder recorder(node->made.pool, 0, 60, [] { return "a rank"; });
      store::OutputDescription description = output.description;
      description.share = share_;
      description.names = {final_path + ".part", final_path};
      auto header = output.file();
      header.resize(description.layout.header_bytes);
      description.metadata = {{0, header}};
      node->keys.push_back(node->describe(recorder, description));
      pool::SlotNodes& known = node->made.pool.slot(node->keys.back().slot).nodes;
      if (node == nodes_.front()) known.at_stagers = pool::AtStagers::asked;
      known.job_output = job_output;
      node->engine.adopt_now();
    }
  }
  [[nodiscard]] pool::OutputSlot& slot(VirtualNode& node, std::size_t output = 0) { return node.made.pool.slot(node.keys[output].slot); }
  // Runs the clients until it holds.
  template <class Condition>
  [[nodiscard]] bool comes(Condition condition) {
    for (const std::uint64_t begin = base::now_ns(); !condition();) {
      bool moved = false;
      for (const auto& node : nodes_) moved = node->exchange.progress() || moved;
      if (!moved) usleep(100);
      if (base::now_ns() - begin > limit_ns) return false;
    }
    return true;
  }
  [[nodiscard]] bool fails(std::size_t output) {
    return comes([&] { return slot(*nodes_.front(), output).error != 0; });
  }
  void put_all(const VirtualOutput& output, std::size_t which = 0) {
    for (const auto& node : nodes_) {
      for (int rank = 0; rank < static_cast<int>(node->made.pool.header().ranks); ++rank) {
        pool::Recorder recorder(node->made.pool, rank, 60, [] { return "a rank"; },
                                [&] { for (const auto& each : nodes_) each->exchange.progress(); });
        for (std::uint64_t step = 0; step < output.steps; ++step) node->put_step(recorder, node->keys[which], rank, output, step);
        node->close(recorder, node->keys[which], rank, output);
      }
    }
  }
  [[nodiscard]] bool all_may_leave() {
    return comes([&] {
      return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->exchange.may_leave(); });
    });
  }
  void leave() {
    for (const auto& node : nodes_) node->exchange.leave();
  }
  [[nodiscard]] static std::vector<std::byte> content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  int clients_ = 0;
  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
  plan::FileShare share_;
  std::unique_ptr<transport::LocalNetwork> network_;
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
  std::vector<std::unique_ptr<service::StagedJob>> jobs_;
  std::vector<std::future<bool>> over_;
};

class StagingOf : public Staging, public testing::WithParamInterface<unsigned> {};

// However many there are, and however late messages are: the clients leave before the file is there.
TEST_P(StagingOf, RandomNodesMakesTheFilesThatASingleWriterWouldHaveMade) {
  std::mt19937 random(GetParam());
  std::vector<int> ranks(1 + random() % 5);
  for (int& count : ranks) count = 1 + static_cast<int>(random() % 3);
  start(ranks, 1 + static_cast<int>(random() % 4), GetParam() % 4);
  std::vector<VirtualOutput> outputs;
  for (std::size_t o = 0; o < 3; ++o) {
    const std::string path = file("f" + std::to_string(o));
    outputs.push_back(VirtualOutput::random(random, std::accumulate(ranks.begin(), ranks.end(), 0), random() % 6, path));
    open(outputs[o], o + 1, path);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    put_all(outputs[o], o);
  }
  ASSERT_TRUE(all_may_leave());
  leave();

  for (auto& over : over_) EXPECT_TRUE(over.get());
  for (const auto& output : outputs) EXPECT_EQ(content(output.description.names.final_path), output.file());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), {}), 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StagingOf, testing::Range(1U, 13U));

TEST_F(Staging, AFileThatCannotBeMadeFailsOnAllNodes) {
  std::mt19937 random(1);
  start({1, 1}, 2);
  const VirtualOutput output = VirtualOutput::random(random, 2, 1, file("out"));
  struct Case {
    std::string path, message;
  };
  const std::vector<Case> cases = {{"/tmp/elsewhere", "the stager writes below " + directory() + " only"},
                                   {directory() + "/../outside", "only, and"},
                                   {file("missing/out"), "missing"}};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    open(output, c + 1, cases[c].path);
    EXPECT_TRUE(fails(c)) << cases[c].path;
    const std::string message = pool::message_of(slot(*nodes_.front(), c));
    EXPECT_NE(message.find(cases[c].message), message.npos) << message;
    // All ranks give it up.
    for (const auto& node : nodes_) {
      pool::Recorder recorder(node->made.pool, 0, 60, [] { return "a rank"; });
      VirtualRanks(node->made).report(recorder, node->keys[c], 0, pool::rank_closed | pool::rank_abandoned);
    }
    EXPECT_TRUE(comes([&] { return slot(*nodes_.back(), c).error != 0 && slot(*nodes_.back(), c).state != pool::OutputState::open; }));
  }
  ASSERT_TRUE(all_may_leave());
  leave();
  for (auto& over : over_) EXPECT_TRUE(over.get());
  EXPECT_TRUE(fs::is_empty(directory()));
}

// Nodes of which some are stagers, all of them played here.
class PlayedStagers : public Staging {
 public:
  static constexpr int clients = 3, stagers = 4, nodes = clients + stagers;

 protected:
  PlayedStagers() : output_(VirtualOutput::random(random_, clients, 5, file("out"))) {
    network_ = std::make_unique<transport::LocalNetwork>(nodes, 0, stagers);
    output_.description.share = {.machine = plan::plain_machine(stagers), .nodes = stagers, .first = clients,
                                 .window_bytes = 4 * base::KiB, .request_bytes = 4 * base::KiB, .publisher = clients};
    auto header = output_.file();
    header.resize(output_.description.layout.header_bytes);
    output_.description.metadata = {{0, header}};
    for (int n = 0; n < nodes; ++n) {
      const pool::NodeShare share{"kept", nodes, n, stagers};
      nodes_.push_back(std::make_unique<VirtualNode>(pool::roomy_plan(), n < clients ? 1 : 0, n, share, *network_, disks_[at(n)]));
    }
    for (int n = nodes - 1; n >= 0; --n) {   // the publisher makes the file
      VirtualNode& each = node(n == nodes - 1 ? clients : n == clients ? nodes - 1 : n);
      pool::Recorder recorder(each.made.pool, 0, 60, [] { return "a rank"; });
      each.keys.push_back(each.describe(recorder, output_.description));
      each.engine.adopt_now();
      slot(each).nodes.job_output = 1;
    }
  }
  ~PlayedStagers() override {
    for (const std::string& pool : left_) fs::remove("/dev/shm" + pool);
  }
  static std::size_t at(int n) { return static_cast<std::size_t>(n); }
  [[nodiscard]] VirtualNode& node(int n) { return *nodes_[at(n)]; }
  enum class Close { no, yes };
  void put(Close close) {
    for (int rank = 0; rank < clients; ++rank) {
      pool::Recorder recorder(node(rank).made.pool, 0, 60, [] { return "a rank"; },
                              [&] { for (const auto& each : nodes_) each->exchange.progress(); });
      for (std::uint64_t step = 0; step < output_.steps; ++step) node(rank).put_step(recorder, node(rank).keys[0], 0, output_, step);
      if (close == Close::yes) node(rank).close(recorder, node(rank).keys[0], 0, output_);
    }
  }
  template <class Condition>
  [[nodiscard]] bool comes_on(int first, int end, Condition condition) {
    return comes([&] {
      for (int n = first; n < end; ++n) {
        if (!condition(slot(node(n)))) return false;
      }
      return true;
    });
  }
  // By one process that sees the pools of the stagers.
  void recover(drain::Engine::Unfinished unfinished) {
    for (int stager = clients; stager < nodes; ++stager) {
      node(stager).engine.stop(unfinished);
      left_.push_back(node(stager).made.pool.name() + "1");
      fs::create_hard_link("/dev/shm" + node(stager).made.pool.name(), "/dev/shm" + left_.back());   // stays when the node goes
    }
    nodes_.clear();
    for (const auto& recovered : service::recover_nodes(left_, *service::no_companions(), calls_, [] {})) {
      EXPECT_EQ(recovered.problem, "");
      ASSERT_EQ(recovered.recovered.outputs.size(), 1U);
      EXPECT_EQ(recovered.recovered.outputs[0].state, "published") << recovered.recovered.outputs[0].note;
    }
    EXPECT_EQ(content(file("out")), output_.file());
    EXPECT_EQ(std::distance(fs::directory_iterator(directory()), {}), 1);
  }

  std::mt19937 random_{5};
  VirtualOutput output_;
  std::array<store::FaultyCalls, nodes> disks_;
  std::vector<std::string> left_;
};

// The stagers are killed when the clients have left: their pools are all there is, and recovery has all of the file.
TEST_F(PlayedStagers, WhatClientsHaveLeftIsRecoveredWithoutThem) {
  put(Close::yes);
  ASSERT_TRUE(comes([&] {
    return std::all_of(nodes_.begin(), nodes_.begin() + clients, [](const auto& node) { return node->exchange.may_leave(); });
  }));
  for (const auto& node : nodes_) EXPECT_EQ(pool::message_of(slot(*node)), "") << node->made.pool.header().node;
  recover(drain::Engine::Unfinished::leave);
}

TEST_F(PlayedStagers, WhatClientsHaveClosedIsKeptWhereTheStorageRefusesIt) {
  disks_[at(clients)].follow({store::on("rename").fails(EIO)});
  put(Close::yes);
  ASSERT_TRUE(comes_on(clients, nodes, [](const auto& slot) { return pool::is_kept(slot); }));
  EXPECT_FALSE(fs::exists(file("out")));
  ASSERT_TRUE(comes_on(0, clients, [](const auto& slot) { return slot.state == pool::OutputState::failed; }));
  for (int client = 0; client < clients; ++client) {
    EXPECT_TRUE(node(client).exchange.may_leave());
    EXPECT_NE(std::string(slot(node(client)).hint.data()).find("glean recover"), std::string::npos);
    EXPECT_EQ(node(client).made.pool.header().used_chunks, 0U);
  }
  const auto holds_any = [](const auto& each) { return each->exchange.holds_any(); };
  EXPECT_TRUE(comes([&] { return std::none_of(nodes_.begin(), nodes_.end(), holds_any); }));
  recover(drain::Engine::Unfinished::discard);
}

TEST_F(PlayedStagers, WhatClientsHaveOpenFailsWhereTheStorageRefusesIt) {
  for (int stager = clients; stager < nodes; ++stager) disks_[at(stager)].follow(store::full_disk());
  put(Close::no);
  ASSERT_TRUE(comes_on(0, nodes, [](const auto& slot) { return slot.error != 0 && !pool::is_undecided(slot); }));
  for (int client = 0; client < clients; ++client) {
    EXPECT_EQ(std::string(slot(node(client)).hint.data()).find("glean recover"), std::string::npos);
    pool::Recorder recorder(node(client).made.pool, 0, 60, [] { return "a rank"; });
    node(client).close(recorder, node(client).keys[0], 0, output_);
  }
  ASSERT_TRUE(comes_on(0, nodes, [](const auto& slot) { return slot.state != pool::OutputState::open; }));
  EXPECT_TRUE(fs::is_empty(directory()));
}

// All are killed when the ranks have put everything: before any stager has heard of the file, or when only the first one has it open.
TEST_F(Staging, WhatNotAllStagersHaveOpenIsRecovered) {
  constexpr int clients = 2, stagers = 2, nodes = clients + stagers;
  for (const bool has_root : {false, true}) {
    std::mt19937 random(7);
    const std::string name = has_root ? "by_root" : "by_none";
    network_ = std::make_unique<transport::LocalNetwork>(nodes, 0, stagers);
    VirtualOutput output = VirtualOutput::random(random, clients, 4, file(name));
    output.description.share = {.machine = plan::plain_machine(stagers), .nodes = stagers, .first = clients,
                                .window_bytes = 4 * base::KiB, .request_bytes = 4 * base::KiB, .publisher = clients};
    output.description.names = {file("." + name + ".part"), file(name)};
    auto header = output.file();
    header.resize(output.description.layout.header_bytes);
    output.description.metadata = {{0, header}};
    for (int n = 0; n < nodes; ++n) {
      const pool::NodeShare share{name, nodes, n, stagers};
      VirtualNode& node = *nodes_.emplace_back(
          std::make_unique<VirtualNode>(pool::roomy_plan(), n < clients ? 1 : 0, n, share, *network_, calls_));
      if (n > clients || (n == clients && !has_root)) continue;
      pool::Recorder recorder(node.made.pool, 0, 60, [] { return "a rank"; });
      node.keys.push_back(node.describe(recorder, output.description));
      slot(node).nodes.at_stagers = n == 0 ? pool::AtStagers::asked : pool::AtStagers::no;
      slot(node).nodes.job_output = 1;
      node.engine.adopt_now();
      if (n >= clients) continue;
      for (std::uint64_t step = 0; step < output.steps; ++step) node.put_step(recorder, node.keys[0], 0, output, step);
      node.close(recorder, node.keys[0], 0, output);
    }
    std::vector<std::string> left;
    for (const auto& node : nodes_) {
      node->engine.stop(drain::Engine::Unfinished::leave);
      left.push_back(node->made.pool.name() + "1");
      fs::create_hard_link("/dev/shm" + node->made.pool.name(), "/dev/shm" + left.back());
    }
    nodes_.clear();
    for (const auto& recovered : service::recover_nodes(left, *service::no_companions(), calls_, [] {})) {
      EXPECT_EQ(recovered.problem, "");
      EXPECT_TRUE(recovered.recovered.pool_removed) << recovered.pool;
    }
    for (const std::string& pool : left) fs::remove("/dev/shm" + pool);
    EXPECT_EQ(content(file(name)), output.file());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), {}), 2);
}

// A stager has no ranks that could have it open: that none has is not that all have closed it.
TEST_F(Staging, AnOutputThatTheNodesDoNotKnowYetIsNotClosed) {
  std::mt19937 random(2);
  transport::LocalNetwork network(2, 0, 1);
  VirtualNode stager(pool::roomy_plan(), 0, 0, pool::NodeShare{"staged", 2, 1, 1}, network, calls_);
  pool::Recorder recorder(stager.made.pool, 0, 60, [] { return "a rank"; });
  for (const char* name : {"unknown", "closed"}) {
    store::OutputDescription description = VirtualOutput::random(random, 1, 1, file(name)).description;
    description.share = {.machine = plan::plain_machine(1), .nodes = 1, .first = 1, .window_bytes = 4 * base::KiB,
                         .request_bytes = 4 * base::KiB, .publisher = 1};
    stager.keys.push_back(stager.describe(recorder, description));
  }
  pool::OutputSlot& closed = stager.made.pool.slot(stager.keys[1].slot);
  closed.nodes.job_closed = 1;
  closed.nodes.job_output = 2;
  stager.engine.adopt_now();
  pool::futex_signal(stager.made.pool.header().work);
  ASSERT_TRUE(comes([&] { return closed.nodes.part_durable != 0; }));   // by the one thread, which has looked at the other before
  EXPECT_EQ(stager.made.pool.slot(stager.keys[0].slot).nodes.part_durable, 0U);
}

// Of what was opened and put, a rank gives an output up: no stager keeps anything of it.
TEST_F(Staging, AnOutputThatIsGivenUpLeavesNothing) {
  std::mt19937 random(3);
  start({1, 2}, 2);
  const VirtualOutput output = VirtualOutput::random(random, 3, 2, file("out"));
  open(output, 1, file("out"));
  put_all(output);
  pool::Recorder recorder(nodes_[1]->made.pool, 1, 60, [] { return "a rank"; });
  VirtualRanks(nodes_[1]->made).report(recorder, nodes_[1]->keys[0], 1, pool::rank_closed | pool::rank_abandoned);
  ASSERT_TRUE(comes([&] { return slot(*nodes_.front()).state != pool::OutputState::open; }));
  leave();
  for (auto& over : over_) EXPECT_TRUE(over.get());
  EXPECT_TRUE(fs::is_empty(directory()));
}

}  // namespace
}  // namespace glean::tests::staging_test
