// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs of several nodes that the storage of some of them refuses: all nodes keep them, or none does.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/clock.hpp"
#include "service/recovery.hpp"
#include "raw_output.hpp"
#include "virtual_nodes.hpp"
#include "pool/futex.hpp"
#include "pool/name_log.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::refused_by_nodes_test {
namespace {

// One rank on each node has written its part of one file.
class RefusedByNodes : public testing::Test {
 protected:
  static constexpr int nodes = 3;
  static constexpr std::size_t part_bytes = 1000;   // of each node: no window is full, and nothing is written before it is closed

  RefusedByNodes() {
    store::write_text(working_path_, "");
    for (int n = 0; n < nodes; ++n) {
      const pool::NodeShare share{"refused", nodes, n};
      nodes_[index(n)] = std::make_unique<VirtualNode>(pool::small_plan(), 1, n, share, network_, disks_[index(n)]);
      names_.push_back(node(n).made.pool.name());
      node(n).made.pool.journal(0).job_rank = static_cast<std::uint32_t>(n);
      open(n);
    }
  }
  ~RefusedByNodes() override {
    for (const auto& name : names_) shm_unlink(name.c_str());
  }

  static std::size_t index(int n) { return static_cast<std::size_t>(n); }
  [[nodiscard]] VirtualNode& node(int n) { return *nodes_[index(n)]; }
  [[nodiscard]] pool::OutputSlot& slot(int n) { return node(n).made.pool.slot(keys_[index(n)].slot); }

  void open(int n) {
    pool::Recorder recorder(node(n).made.pool, 0, 30, [] { return "opening"; });
    keys_[index(n)] = node(n).describe(recorder, raw_output(working_path_, directory_ / "file"));
    slot(n).is_bytes = 1;
    node(n).engine.adopt_now();
    slot(n).nodes.job_output = 1;
    const std::vector<std::byte> bytes(part_bytes, value_of(n));
    const mesh::Box box = box_of({.offset = index(n) * part_bytes, .block_bytes = part_bytes, .levels = {}});
    for (std::size_t first = 0; first < part_bytes;) {
      const auto room = recorder.reserve(std::min<std::size_t>(part_bytes - first, 200), 1);
      std::copy_n(bytes.begin(), room.bytes, room.data);
      const std::uint64_t number = recorder.take_number(keys_[index(n)], 1).number;
      recorder.commit_put(room, room.bytes, {keys_[index(n)], number, 0, mesh::Type::uint8, &box, first, room.bytes});
      first += room.bytes;
    }
  }
  static std::byte value_of(int n) { return std::byte(n + 1); }
  void close(int n) {
    node(n).made.pool.rank_progress(keys_[index(n)].slot, 0) = 1 | pool::rank_closed;
    pool::futex_signal(node(n).made.pool.header().work);
  }
  // These nodes go on until it is so.
  template <class Condition>
  [[nodiscard]] bool comes(const std::vector<int>& with, Condition condition) {
    const std::uint64_t limit = base::now_ns() + 60'000'000'000;
    while (!condition() && base::now_ns() < limit) {
      for (const int n : with) node(n).exchange.progress();
      usleep(200);
    }
    return condition();
  }
  template <class Condition>
  [[nodiscard]] bool comes_on_all(Condition condition) {
    return comes({0, 1, 2}, [&] { return condition(slot(0)) && condition(slot(1)) && condition(slot(2)); });
  }
  static bool is_free(const pool::OutputSlot& slot) { return slot.state == pool::OutputState::free; }

  [[nodiscard]] bool is_published() const {
    const auto found = bytes_of_file(directory_ / "file");
    std::vector<std::byte> expected;
    for (int n = 0; n < nodes; ++n) expected.insert(expected.end(), part_bytes, value_of(n));
    return found == expected;
  }
  [[nodiscard]] bool has_working_file() const { return std::filesystem::exists(working_path_); }
  // The session has ended, and one process sees all pools.
  std::vector<service::RecoveredPool> recover() {
    for (auto& each : nodes_) {
      each->engine.stop(drain::Engine::Unfinished::leave);
      const pool::Pool unmapped = std::move(each->made.pool);
    }
    store::SystemCalls calls;
    return service::recover_nodes(names_, *service::no_companions(), calls, [] {});
  }
  void expect_recovered() {
    for (const auto& pool : recover()) {
      EXPECT_EQ(pool.problem, "");
      EXPECT_TRUE(pool.recovered.pool_removed);
      ASSERT_EQ(pool.recovered.outputs.size(), 1U);
      EXPECT_EQ(pool.recovered.outputs[0].state, "published") << pool.recovered.outputs[0].note;
    }
    EXPECT_TRUE(is_published());
    EXPECT_FALSE(has_working_file());
  }

  store::TemporaryDirectory directory_;
  std::string working_path_ = directory_ / ".file.part";
  std::array<store::FaultyCalls, nodes> disks_;
  transport::LocalNetwork network_{nodes, 1};
  std::array<pool::OutputKey, nodes> keys_;
  std::vector<std::string> names_;
  std::array<std::unique_ptr<VirtualNode>, nodes> nodes_;
};

TEST_F(RefusedByNodes, WhatAllHadClosedIsKeptByAllAndCompletedWhenThereIsRoom) {
  disks_[1].follow(store::full_disk());
  for (int n = 0; n < nodes; ++n) close(n);

  ASSERT_TRUE(comes_on_all([](const auto& slot) { return pool::is_kept(slot); }));

  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
  for (int n = 0; n < nodes; ++n) {
    EXPECT_EQ(pool::untold_failure(node(n).made.pool), keys_[index(n)].slot);
    EXPECT_EQ(slot(n).error, static_cast<std::uint32_t>(base::Errc::no_space) + 1);
    EXPECT_EQ(pool::message_of(slot(n)), pool::message_of(slot(1)));
    EXPECT_FALSE(node(n).exchange.holds_any());
  }
  expect_recovered();
}

TEST_F(RefusedByNodes, AllDisksMayBeFull) {
  for (auto& disk : disks_) disk.follow(store::full_disk());
  for (int n = 0; n < nodes; ++n) close(n);
  ASSERT_TRUE(comes_on_all([](const auto& slot) { return pool::is_kept(slot); }));
  expect_recovered();
}

TEST_F(RefusedByNodes, OneThatTheProgramRemovesIsNotCompletedByAnyNode) {
  disks_[1].follow(store::full_disk());
  for (int n = 0; n < nodes; ++n) close(n);
  ASSERT_TRUE(comes_on_all([](const auto& slot) { return pool::is_kept(slot); }));
  slot(2).is_renamed = pool::is_removed_output;
  for (const auto& pool : recover()) {
    EXPECT_EQ(pool.problem, "");
    EXPECT_TRUE(pool.recovered.pool_removed);
    ASSERT_EQ(pool.recovered.outputs.size(), 1U);
    EXPECT_EQ(pool.recovered.outputs[0].state, "removed");
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
  EXPECT_FALSE(has_working_file());
}

// By a rank of node 2. Node 0 has seen since that another file took the old name.
TEST_F(RefusedByNodes, OneThatTheProgramRenamesAppearsUnderTheNewName) {
  disks_[1].follow(store::full_disk());
  for (int n = 0; n < nodes; ++n) close(n);
  ASSERT_TRUE(comes_on_all([](const auto& slot) { return pool::is_kept(slot); }));
  {
    pool::NameLog log(node(2).made.pool.name(), pool::NameLog::Make::yes);
    pool::NameChange change{.kind = pool::NameChange::Kind::renamed, .state = pool::NameChange::State::waiting, .output = keys_[2]};
    (directory_ / "another").copy(change.path.data(), change.path.size() - 1);
    ASSERT_TRUE(log.write(log.count(), change));
  }
  slot(2).is_renamed = 1;
  slot(0).is_renamed = pool::is_removed_output;
  store::write_text(directory_ / "file", "the next one");
  for (const auto& pool : recover()) {
    ASSERT_EQ(pool.recovered.outputs.size(), 1U);
    EXPECT_EQ(pool.recovered.outputs[0].state, "published") << pool.recovered.outputs[0].note;
  }
  EXPECT_EQ(store::read_text(directory_ / "file"), "the next one");
  std::filesystem::rename(directory_ / "another", directory_ / "file");
  EXPECT_TRUE(is_published());
}

// As a session does that ends before the others have said anything.
TEST_F(RefusedByNodes, NothingGoesBeforeTheNodesHaveDecided) {
  disks_[0].follow(store::full_disk());
  for (int n = 0; n < nodes; ++n) close(n);
  ASSERT_TRUE(comes({0}, [&] { return pool::postponed(slot(0)) == pool::Postponed::agreed; }));
  EXPECT_FALSE(pool::is_kept(slot(0)));
  node(0).engine.stop();
  EXPECT_EQ(slot(0).state, pool::OutputState::open);
  EXPECT_TRUE(has_working_file());
  expect_recovered();
}

TEST_F(RefusedByNodes, ItFailsForAllWhereARankHadNotClosedIt) {
  disks_[0].follow(store::full_disk());
  close(0);
  close(1);
  ASSERT_TRUE(comes({0, 1}, [&] { return pool::postponed(slot(0)) == pool::Postponed::agreed; }));
  EXPECT_EQ(slot(0).discarded, 0U);
  EXPECT_TRUE(has_working_file());

  ASSERT_TRUE(comes_on_all([](const auto& slot) { return slot.discarded == 1; }));
  for (int n = 0; n < nodes; ++n) EXPECT_EQ(slot(n).error, static_cast<std::uint32_t>(base::Errc::no_space) + 1);
  EXPECT_FALSE(has_working_file());

  close(2);   // its rank tells the program
  EXPECT_TRUE(comes_on_all(is_free));
  for (int n = 0; n < nodes; ++n) EXPECT_EQ(node(n).made.pool.header().used_chunks, 0U) << n;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
}

TEST_F(RefusedByNodes, ItFailsForAllWhereTheProgramHasBeenTold) {
  disks_[0].follow(store::full_disk());
  slot(2).told = 1;
  for (int n = 0; n < nodes; ++n) close(n);
  EXPECT_TRUE(comes_on_all(is_free));
  for (int n = 0; n < nodes; ++n) EXPECT_EQ(node(n).made.pool.header().used_chunks, 0U) << n;
  EXPECT_FALSE(has_working_file());
}

TEST_F(RefusedByNodes, ItFailsForAllWhereItHasFailedForAnotherReason) {
  disks_[0].follow(store::full_disk());
  for (int n = 0; n < nodes; ++n) close(n);
  ASSERT_TRUE(comes({0}, [&] { return pool::postponed(slot(0)) == pool::Postponed::agreed; }));
  pool::fail(slot(2), static_cast<std::uint32_t>(base::Errc::io), "a put has failed", "");
  EXPECT_TRUE(comes_on_all(is_free));
  EXPECT_FALSE(has_working_file());
}

}  // namespace
}  // namespace glean::tests::refused_by_nodes_test
