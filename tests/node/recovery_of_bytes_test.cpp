// SPDX-License-Identifier: BSD-3-Clause
//
// Jobs of several nodes that were killed with raw outputs in their pools: what they had written over one another takes effect
// in its order.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "capture/full_pool_policy.hpp"
#include "pool/lamport_clock.hpp"
#include "service/recovery.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/description.hpp"
#include "pool/other_handles.hpp"
#include "pool/test_pool.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::recovery_of_bytes_test {
namespace {

constexpr int node_count = 2, per_node = 2;
enum File { x, y };
enum class Place { new_file, in_place };

class KilledJob {
 public:
  explicit KilledJob(Place place) {
    plan::NodePlan plan = pool::small_plan();
    for (int node = 0; node < node_count; ++node) {
      pools_.push_back(std::make_unique<pool::TestPool>(per_node, plan, pool::NodeShare{"bytes", node_count, node}));
      for (int rank = 0; rank < per_node; ++rank) {
        pools_.back()->pool.journal(rank).job_rank = static_cast<std::uint32_t>(node * per_node + rank);
      }
      for (const File file : {x, y}) open(node, file, place);
    }
    next_tick();
  }

  void next_tick() {
    ++tick_;
    for (auto& made : pools_) pool::raise_tick(made->pool, tick_);
  }
  void write(int node, int rank, File file, Bytes at, unsigned char value) {
    pool::Recorder recorder(pools_[index(node)]->pool, rank, 30, [] { return "a rank"; });
    capture::FullPoolPolicy policy(pools_[index(node)]->pool, recorder, rank, calls_);
    const mesh::Pattern place{.offset = at, .block_bytes = 1000, .levels = {}};
    const mesh::Box box = box_of(place);
    policy.write({keys_[node][file], base::WhenFull::block, 0, &place, &box, [](const pool::WriteStamp&) {}},
                 [&](std::uint64_t, std::uint64_t bytes, std::byte* target) { std::fill_n(target, bytes, std::byte(value)); });
  }
  // A rank takes it that is killed before it has recorded what it writes.
  void take_number(int node, int rank, File file) {
    pool::Recorder recorder(pools_[index(node)]->pool, rank, 30, [] { return "a rank"; });
    static_cast<void>(recorder.take_number(keys_[node][file], 1));
  }
  // Ranks of that node were told so.
  void synchronize(int node, File file) {
    pool::OutputSlot& slot = pools_[index(node)]->pool.slot(keys_[node][file].slot);
    slot.synchronized_writes = 1 + pool::writes_begun(slot);
  }
  // Node 0 has published it, although not all had closed it, and has forgotten it.
  void publish_beside(File file) {
    struct stat status {};
    std::filesystem::rename(path(file) + ".part", path(file) + ".unclosed");
    ASSERT_EQ(stat((path(file) + ".unclosed").c_str(), &status), 0);
    for (int node = 0; node < node_count; ++node) pools_[index(node)]->pool.slot(keys_[node][file].slot).working_inode = status.st_ino;
    pools_[0]->pool.slot(keys_[0][file].slot).state = pool::OutputState::published;
  }
  // Node 0 has published it when all had closed it, and has forgotten it; then the program has removed it.
  void publish_and_remove(File file) {
    std::filesystem::remove(path(file) + ".part");
    pools_[0]->pool.slot(keys_[0][file].slot).state = pool::OutputState::free;
    pools_[1]->pool.slot(keys_[1][file].slot).nodes.part_durable = 1;
  }
  void close() { progress_ = 1 | pool::rank_closed; }
  // As the drains of the job have done.
  void open_files() {
    for (const File file : {x, y}) {
      struct stat status {};
      ASSERT_EQ(stat(path(file).c_str(), &status), 0);
      for (int node = 0; node < node_count; ++node) pools_[index(node)]->pool.slot(keys_[node][file].slot).working_inode = status.st_ino;
    }
  }
  // Ranks have opened a new file once more while it was open (session/other_handles.cpp).
  void share(File file) {
    struct stat status {};
    ASSERT_EQ(stat((path(file) + ".part").c_str(), &status), 0);
    for (int node = 0; node < node_count; ++node) {
      pool::OutputSlot& slot = pools_[index(node)]->pool.slot(keys_[node][file].slot);
      slot.working_device = status.st_dev;
      slot.working_inode = status.st_ino;
      pool::tell_of_others(slot);
    }
    std::filesystem::rename(path(file) + ".part", path(file));
  }
  // By the program.
  void replace(File file, const std::string& text) {
    store::write_text(path(file) + ".new", text);
    std::filesystem::rename(path(file) + ".new", path(file));
  }

  std::vector<drain::OutputTrace> recover() {
    std::vector<std::string> names;
    for (int node = 0; node < node_count; ++node) {
      for (int rank = 0; rank < per_node; ++rank) {
        for (const File file : {x, y}) pools_[index(node)]->pool.rank_progress(keys_[node][file].slot, rank) = progress_;
      }
      names.push_back(pools_[index(node)]->pool.name());
    }
    for (auto& made : pools_) {
      const pool::Pool unmapped = std::move(made->pool);   // its process is gone
    }
    pools_.clear();
    const auto alone = service::no_companions();
    int seconds = 0;
    std::vector<drain::OutputTrace> outputs;
    for (auto& each : service::recover_nodes(names, *alone, calls_, [&] {
           if (++seconds > 20) throw std::runtime_error("recovery does not end");
         })) {
      EXPECT_EQ(each.problem, "");
      for (auto& output : each.recovered.outputs) outputs.push_back(std::move(output));
    }
    return outputs;
  }

  // What is at that place of the file; -1: there is none.
  [[nodiscard]] int byte(File file, Bytes at, const char* beside = "") const {
    std::ifstream stream(path(file) + beside, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    return stream.get();
  }

 private:
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }
  [[nodiscard]] std::string path(File file) const { return directory_ / (file == x ? "x" : "y"); }
  void open(int node, File file, Place place) {
    pool::TestPool& made = *pools_[index(node)];
    const pool::OutputKey key = keys_[node][file] =
        open_raw_output(made, raw_output(place == Place::in_place ? path(file) : path(file) + ".part", path(file)));
    made.pool.slot(key.slot).nodes.job_output = 1 + static_cast<std::uint64_t>(file);
  }

  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
  std::vector<std::unique_ptr<pool::TestPool>> pools_;
  pool::OutputKey keys_[node_count][2];
  std::uint64_t tick_ = 0;
  std::uint32_t progress_ = 0;
};

TEST(RecoveryOfBytes, NodesGoThroughAllTicksTogether) {
  KilledJob job(Place::new_file);
  for (unsigned char turn = 1; turn <= 40; ++turn) {
    job.write(turn % 2, turn % 3 % 2, x, 0, turn);
    job.next_tick();
  }
  job.close();
  for (const drain::OutputTrace& output : job.recover()) EXPECT_EQ(output.state, "published") << output.path << ": " << output.note;
  EXPECT_EQ(job.byte(x, 0), 40);
  EXPECT_EQ(job.byte(x, 999), 40);
}

TEST(RecoveryOfBytes, AWriteBehindOneThatWaitsForAnotherNodeIsNotPassedOver) {
  KilledJob job(Place::new_file);
  job.write(0, 0, y, 0, 1);
  job.next_tick();
  job.write(1, 1, y, 0, 2);      // waits for node 0
  job.write(1, 1, x, 0, 3);      // the first of x on this node, behind it in the journal
  job.write(1, 0, x, 5000, 4);   // the second, of another rank
  job.close();
  job.recover();
  EXPECT_EQ(job.byte(y, 0), 2);
  EXPECT_EQ(job.byte(x, 0), 3);
  EXPECT_EQ(job.byte(x, 5000), 4);
}

TEST(RecoveryOfBytes, FilesDoNotKeepEachOtherWaitingFromNodeToNode) {
  KilledJob job(Place::new_file);
  job.write(0, 0, y, 0, 1);
  job.write(1, 0, x, 0, 1);
  job.next_tick();
  job.write(1, 0, x, 0, 2);   // x, then y
  job.next_tick();
  job.write(0, 0, y, 0, 3);   // y, then x
  job.write(0, 0, x, 0, 3);
  job.write(1, 0, y, 5000, 3);
  job.close();
  job.recover();
  EXPECT_EQ(job.byte(x, 0), 3);
  EXPECT_EQ(job.byte(y, 0), 3);
  EXPECT_EQ(job.byte(y, 5000), 3);
}

TEST(RecoveryOfBytes, AWriteThatNoRankHasRecordedKeepsNoNodeWaiting) {
  KilledJob job(Place::in_place);
  job.write(0, 0, x, 0, 1);
  job.take_number(0, 1, x);
  job.next_tick();
  job.write(1, 0, x, 0, 2);
  job.next_tick();
  job.write(1, 0, x, 0, 3);
  job.recover();
  EXPECT_EQ(job.byte(x, 0), 3);   // in place it gets all that was captured, closed or not
}

TEST(RecoveryOfBytes, WhatOneNodeWasToldIsSynchronizedIsPublishedWithWhatAllHave) {
  KilledJob job(Place::new_file);
  job.write(0, 0, x, 0, 1);
  job.write(1, 0, x, 5000, 2);
  job.write(1, 0, y, 0, 3);
  job.synchronize(1, x);
  job.next_tick();
  job.write(0, 1, x, 0, 4);
  job.replace(x, "precious");

  for (const drain::OutputTrace& output : job.recover()) {
    const bool is_x = output.path.ends_with("x");
    EXPECT_EQ(output.state, is_x ? "published" : "failed") << output.note;
    EXPECT_EQ(output.unclosed_path, is_x ? output.path + ".unclosed" : "");
  }

  EXPECT_EQ(job.byte(x, 0), 'p');
  EXPECT_EQ(job.byte(x, 0, ".unclosed"), 4);
  EXPECT_EQ(job.byte(x, 5000, ".unclosed"), 2);
  EXPECT_EQ(job.byte(y, 0), -1);
}

TEST(RecoveryOfBytes, WhatTheProgramHasRemovedSinceItWasPublishedHasNotFailed) {
  KilledJob job(Place::new_file);
  job.close();
  job.publish_and_remove(x);
  for (const drain::OutputTrace& output : job.recover()) EXPECT_EQ(output.state, "published") << output.path << ": " << output.note;
  EXPECT_EQ(job.byte(x, 0), -1);
}

TEST(RecoveryOfBytes, AnotherNodeFindsWhatTheFirstHasPublishedUnclosed) {
  KilledJob job(Place::new_file);
  job.synchronize(0, x);
  job.synchronize(1, x);
  job.replace(x, "precious");
  job.publish_beside(x);

  int found = 0;
  for (const drain::OutputTrace& output : job.recover()) {
    if (!output.path.ends_with("x")) continue;
    EXPECT_EQ(output.state, "published") << output.note;
    EXPECT_EQ(output.unclosed_path, output.path + ".unclosed");
    ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST(RecoveryOfBytes, AFileThatHasGotTheNameOfOneInPlaceStaysAsItIs) {
  KilledJob job(Place::in_place);
  job.open_files();
  job.write(0, 0, x, 0, 1);
  job.write(0, 0, y, 0, 2);
  job.replace(x, "precious");

  for (const drain::OutputTrace& output : job.recover()) {
    const bool is_x = output.path.ends_with("x");
    EXPECT_EQ(output.state, is_x ? "failed" : "published") << output.note;
    if (is_x) {
      EXPECT_NE(output.note.find("another file has its name"), std::string::npos) << output.note;
    }
  }

  EXPECT_EQ(job.byte(x, 0), 'p');
  EXPECT_EQ(job.byte(y, 0), 2);
}

TEST(RecoveryOfBytes, ANewFileThatOthersHaveOpenTooIsInPlace) {
  KilledJob job(Place::new_file);
  job.share(x);
  job.write(0, 0, x, 0, 1);
  job.next_tick();
  job.write(1, 0, x, 500, 2);
  job.write(1, 0, y, 0, 3);

  for (const drain::OutputTrace& output : job.recover()) {   // no rank had closed them
    EXPECT_EQ(output.state, output.path.ends_with("x") ? "published" : "failed") << output.path << ": " << output.note;
  }

  EXPECT_EQ(job.byte(x, 499), 1);
  EXPECT_EQ(job.byte(x, 500), 2);
  EXPECT_EQ(job.byte(y, 0), -1);
}

}  // namespace
}  // namespace glean::tests::recovery_of_bytes_test
