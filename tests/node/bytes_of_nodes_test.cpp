// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs that ranks of several nodes write over one another, in rounds: what was written last is in the file, whether the nodes write
// it or stagers do.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <thread>

#include "base/clock.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/futex.hpp"
#include "raw_output.hpp"
#include "service/staged_job.hpp"
#include "store/posix/temporary_directory.hpp"
#include "virtual_nodes.hpp"

namespace glean::tests::bytes_of_nodes_test {
namespace {

constexpr Bytes shared_bytes = 600'000;

struct Rank {
  VirtualNode* node;
  int self, node_rank;
  pool::OutputKey key;
};

// A seed, and how many stagers there are.
class BytesOfNodes : public testing::TestWithParam<std::tuple<unsigned, int>> {
 protected:
  BytesOfNodes() {
    int first = 0;
    const auto clients = static_cast<int>(ranks_.size());
    for (int stager = 0; stager < stagers_; ++stager) {
      const int self = clients + stager;
      jobs_.push_back(std::make_unique<service::StagedJob>(
          service::StagedJob::make_pool({"a test", pool::small_plan()}, {"bytes", clients + stagers_, self, stagers_}),
          service::StagedJob::Begins::as_first_one, std::vector{std::filesystem::canonical(directory_ / ".").string()}, false,
          network_.messages(self)));
      over_.push_back(std::async(std::launch::async, [job = jobs_.back().get()] { return job->run(); }));
    }
    for (std::size_t n = 0; n < ranks_.size(); ++n) {
      const pool::NodeShare share{"bytes", clients + stagers_, static_cast<int>(n), stagers_};
      nodes_.push_back(std::make_unique<VirtualNode>(pool::small_plan(), ranks_[n], first, share, network_, calls_));
      const pool::OutputKey key = open(*nodes_.back());
      for (int rank = 0; rank < ranks_[n]; ++rank) members_.push_back({nodes_.back().get(), first + rank, rank, key});
      first += ranks_[n];
    }
    for (auto& node : nodes_) exchanges_.emplace_back([&] {
      while (!ends_) {
        if (!node->exchange.progress()) usleep(100);
      }
    });
  }
  ~BytesOfNodes() override {
    ends_ = true;
    for (auto& thread : exchanges_) thread.join();
  }

  [[nodiscard]] pool::OutputKey open(VirtualNode& node) const {
    const bool is_first = nodes_.size() == 1;
    auto description = raw_output(directory_ / ".file.part", directory_ / "file");
    if (stagers_ != 0) {
      description.share = plan::share_in_turn(stagers_, static_cast<int>(ranks_.size()), pool::small_plan().request_bytes, stagers_);
    }
    if (is_first) store::write_text(description.names.working_path, "");
    pool::Recorder recorder(node.made.pool, 0, 30, [] { return "opening"; });
    const pool::OutputKey key = node.describe(recorder, description);
    pool::OutputSlot& slot = node.made.pool.slot(key.slot);
    slot.is_bytes = 1;
    node.engine.adopt_now();
    if (is_first && stagers_ != 0) slot.nodes.at_stagers = pool::AtStagers::asked;
    slot.nodes.job_output = 1;
    return key;
  }

  // As MPI_Barrier is wrapped.
  void synchronize(const Rank& rank, std::size_t round) {
    std::atomic<std::uint64_t>& greatest = ticks_[round];
    const std::uint64_t mine = pool::proposed_tick(rank.node->made.pool);
    std::uint64_t found = greatest.load();
    while (found < mine && !greatest.compare_exchange_weak(found, mine)) {}
    all_.arrive_and_wait();
    pool::raise_tick(rank.node->made.pool, greatest);
  }

  // What this rank has to see is in the file.
  void flush(const Rank& rank) {
    pool::OutputSlot& slot = rank.node->made.pool.slot(rank.key.slot);
    if (stagers_ != 0) pool::raise_tick(rank.node->made.pool, pool::proposed_tick(rank.node->made.pool));
    const auto next = pool::WriteStamp::of(slot.writes.begun.load());
    pool::raise(slot.writes.wanted_tick, next.order);
    pool::raise(slot.writes.write_up_to, next.number);
    const std::uint64_t limit = base::now_ns() + 30'000'000'000;
    while (slot.writes.written.load() < next.number || slot.writes.job_written_tick.load() < next.order) {
      if (slot.error.load() != 0) return;
      if (base::now_ns() > limit) throw base::Error(base::Errc::timeout, "it does not come into the file:" + state());
      pool::futex_signal(rank.node->made.pool.header().work);
      usleep(100);
    }
  }

  // How far all nodes are, and the stagers, for what does not come.
  [[nodiscard]] std::string state() const {
    std::string text;
    const auto add = [&](const pool::Pool& pool, std::uint32_t index) {
      const pool::SlotWrites& writes = pool.slot(index).writes;
      const auto next = pool::WriteStamp::of(writes.begun.load());
      text += fmt::format("\n  node {}: next {} in tick {}, written {} to {}; ticks: written {}, wanted {}; of all: written {}, sent {}; "
                          "{} chunks",
                          pool.header().node, next.number, next.order, writes.written.load(), writes.write_up_to.load(),
                          writes.written_tick.load(), writes.wanted_tick.load(), writes.job_written_tick.load(),
                          writes.job_sent_tick.load(), pool.header().used_chunks.load());
    };
    for (const auto& node : nodes_) add(node->made.pool, members_.front().key.slot);
    for (const auto& job : jobs_) add(job->pool(), 0);
    return text;
  }

  static void write(capture::FullPoolPolicy& policy, const Rank& rank, base::WhenFull full, const mesh::Pattern& place, std::byte value) {
    const mesh::Box box = box_of(place);
    const auto no_turn = [](const pool::WriteStamp&) { throw base::Error(base::Errc::io, "no rank waits for a turn"); };
    policy.write({rank.key, full, 0, &place, &box, no_turn},
                 [&](std::uint64_t, std::uint64_t bytes, std::byte* target) { std::fill_n(target, bytes, value); });
  }

  // In each round every rank has a part of the file of its own, another one each time.
  [[nodiscard]] mesh::Pattern place(int rank, std::size_t round) const {
    const Bytes part = shared_bytes / members_.size();
    const Bytes begin = (static_cast<Bytes>(rank) + round * 3) % members_.size() * part;
    if (round % 3 == 1) return {.offset = begin + 7, .block_bytes = 100, .levels = {{part / 300, 250}}};
    return {.offset = begin, .block_bytes = round % 3 == 0 ? part : 5000, .levels = {}};
  }
  static std::byte value(int rank, std::size_t round) { return std::byte(1 + (round * 7 + static_cast<std::size_t>(rank)) % 250); }

  [[nodiscard]] std::vector<std::byte> expected(std::size_t rounds) const {
    std::vector<std::byte> model(shared_bytes);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const Rank& rank : members_) {
        if (!writes(rank.self, round)) continue;
        const auto pattern = place(rank.self, round);
        pattern.for_each_run(0, pattern.bytes(), {0, shared_bytes}, [&](mesh::Pattern::Run run) {
          std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(run.file_offset), run.bytes, value(rank.self, round));
        });
      }
    }
    return model;
  }
  // Nodes may have nothing to write for long.
  [[nodiscard]] bool writes(int rank, std::size_t round) const {
    return (static_cast<std::size_t>(rank) * 5 + round + seed_) % 4 != 0;
  }

  void run_rank(const Rank& rank, std::size_t rounds, base::WhenFull full) {
    pool::Recorder recorder(rank.node->made.pool, rank.node_rank, 30, [this] { return state(); });
    store::SystemCalls calls;
    capture::FullPoolPolicy policy(rank.node->made.pool, recorder, rank.node_rank, calls);
    std::mt19937 random(seed_ * 100 + static_cast<unsigned>(rank.self));
    for (std::size_t round = 0; round < rounds; ++round) {
      if (writes(rank.self, round)) write(policy, rank, full, place(rank.self, round), value(rank.self, round));
      if (random() % 4 == 0) usleep(static_cast<unsigned>(random() % 3000));
      synchronize(rank, round);
      if (round % 5 != 4) continue;
      if (random() % 3 == 0) {
        flush(rank);
        const bool has_failed = rank.node->made.pool.slot(rank.key.slot).error.load() != 0;
        if (!has_failed && contents(".file.part") != expected(round + 1)) {
          throw base::Error(base::Errc::io, "what was written is not what is read");
        }
      }
      all_.arrive_and_wait();   // no rank writes while others read
    }
    rank.node->made.pool.rank_progress(rank.key.slot, rank.node_rank) = 1 | pool::rank_closed;
    recorder.ring_the_drain();
  }

  [[nodiscard]] std::vector<std::byte> contents(const std::string& name) const {
    const std::string text = store::read_text(directory_ / name);
    std::vector<std::byte> bytes(shared_bytes);
    std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), bytes.size())), bytes.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    return bytes;
  }

  std::vector<std::string> run(std::size_t rounds, base::WhenFull full) {
    std::vector<std::string> errors;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (const Rank& rank : members_) threads.emplace_back([&, rank] {
      try {
        run_rank(rank, rounds, full);
      } catch (const base::Error& error) {
        const std::lock_guard lock(mutex);
        errors.push_back("rank " + std::to_string(rank.self) + ": " + error.what());
        all_.arrive_and_drop();
      }
    });
    for (auto& thread : threads) thread.join();
    return errors;
  }
  [[nodiscard]] bool all_are_finished() const {
    for (const auto& node : nodes_) {
      if (node->made.pool.slot(members_.front().key.slot).state.load() != pool::OutputState::free) return false;
    }
    return true;
  }
  void expect_finished() {
    for (int i = 0; i < 30'000 && !all_are_finished(); ++i) usleep(1000);
    EXPECT_TRUE(all_are_finished()) << state();
    for (auto& node : nodes_) node->exchange.leave();
    for (auto& over : over_) EXPECT_TRUE(over.get());
  }

  const unsigned seed_ = std::get<0>(GetParam());
  const int stagers_ = std::get<1>(GetParam());
  std::vector<int> ranks_{2, 1, 2};
  // Two stagers that extend one file in turn, 4 KiB at a time, take longer on a busy disk than ranks wait here.
  store::TemporaryDirectory directory_{stagers_ == 0 ? std::filesystem::temp_directory_path() : "/dev/shm"};
  store::SystemCalls calls_;
  transport::LocalNetwork network_{3 + stagers_, seed_, stagers_};
  std::array<std::atomic<std::uint64_t>, 200> ticks_{};
  std::barrier<> all_{5};
  std::vector<std::unique_ptr<service::StagedJob>> jobs_;
  std::vector<std::future<bool>> over_;
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
  std::vector<Rank> members_;
  std::atomic<bool> ends_{false};
  std::vector<std::thread> exchanges_;
};

TEST_P(BytesOfNodes, LaterWritesStay) {
  EXPECT_EQ(run(40, base::WhenFull::block), std::vector<std::string>{});
  expect_finished();
  EXPECT_EQ(contents("file"), expected(40));
  EXPECT_NE(access((directory_ / ".file.part").c_str(), F_OK), 0);
}

class BytesOfNodesInFullPools : public BytesOfNodes {};

TEST_P(BytesOfNodesInFullPools, LaterWritesStay) {
  for (auto& node : nodes_) {
    pool::Pool& pool = node->made.pool;
    std::vector<std::uint32_t> taken;
    while (const auto chunk = pool.take_chunk(pool::Pool::For::capture)) taken.push_back(*chunk);
    for (int left = 0; left < 3 && !taken.empty(); ++left, taken.pop_back()) pool.drop_reference(taken.back());
  }
  EXPECT_EQ(run(30, base::WhenFull::synchronous), std::vector<std::string>{});
  expect_finished();
  EXPECT_EQ(contents("file"), expected(30));
}

TEST_P(BytesOfNodes, AFailureIsKnownEverywhere) {
  pool::fail(nodes_[2]->made.pool.slot(members_.back().key.slot), static_cast<std::uint32_t>(base::Errc::io), "made to fail", "");
  static_cast<void>(run(5, base::WhenFull::block));
  expect_finished();
  EXPECT_NE(access((directory_ / "file").c_str(), F_OK), 0);
  EXPECT_NE(access((directory_ / ".file.part").c_str(), F_OK), 0);
}

INSTANTIATE_TEST_SUITE_P(Delays, BytesOfNodes, testing::Combine(testing::Range(1U, 5U), testing::Values(0, 2)));
INSTANTIATE_TEST_SUITE_P(Delays, BytesOfNodesInFullPools, testing::Combine(testing::Range(1U, 5U), testing::Values(0, 2)));

}  // namespace
}  // namespace glean::tests::bytes_of_nodes_test
