// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs whose ranks are not in the same collective call: writes take effect in the order of the calls, not of time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/clock.hpp"
#include "drain/engine.hpp"
#include "pool/collective_count.hpp"
#include "pool/lamport_clock.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/futex.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::bytes_by_collective_count_test {
namespace {

using pool::WriteStamp;
using store::TemporaryDirectory;

constexpr int rank_count = 3;
constexpr Bytes file_bytes = 40'000;

plan::NodePlan plan_of_test() {
  plan::NodePlan plan = pool::small_plan();
  plan.drain_threads = 2;
  return plan;
}

bool comes_true(const auto& holds, pool::Pool& pool) {
  const std::uint64_t limit = base::now_ns() + 30'000'000'000;
  while (!holds()) {
    if (base::now_ns() > limit) return false;
    pool::futex_signal(pool.header().work);
    usleep(100);
  }
  return true;
}

class BytesByCollectiveCount : public testing::Test {
 protected:
  BytesByCollectiveCount() : made_(rank_count, plan_of_test(), pool::TestPool::Drain::elsewhere) {
    static_cast<void>(made_.pool.claim_drain());
    key_ = open_raw_output(made_, raw_output(file(), file()));
    for (int rank = 0; rank < rank_count; ++rank) {
      recorders_.push_back(std::make_unique<pool::Recorder>(made_.pool, rank, 30, [] { return "a rank"; }));
    }
  }

  [[nodiscard]] std::string file() const { return directory_ / "file"; }
  [[nodiscard]] pool::OutputSlot& slot() const { return made_.pool.slot(key_.slot); }
  [[nodiscard]] pool::Atomic<std::uint32_t>& count_of(int rank) const { return made_.pool.collective_count(key_.slot, rank); }
  [[nodiscard]] bool is_written(WriteStamp stamp) {
    pool::raise(slot().writes.write_up_to, pool::writes_begun(slot()));
    return comes_true([&] { return slot().writes.written_before >= stamp.word() || slot().writes.written >= pool::writes_begun(slot()); },
                      made_.pool);
  }

  struct Written {
    std::uint64_t stamp;
    Bytes begin, end;
    std::byte value;
  };
  // Into the pool, or into the file where that is what this rank does.
  enum class How { captured, by_rank };
  void write(int rank, Bytes begin, Bytes bytes, std::byte value, How how) {
    auto& recorder = *recorders_[static_cast<std::size_t>(rank)];
    const mesh::Pattern pattern{.offset = begin, .block_bytes = bytes, .levels = {}};
    const mesh::Box box{{begin}, {bytes}};
    pool::Recorder::Put put{key_, 0, 0, mesh::Type::uint8, &box, 0, bytes};
    if (how == How::captured) {
      const auto room = recorder.reserve(bytes, bytes);
      std::fill_n(room.data, bytes, value);
      put.step = recorder.take_number(key_, 1, count_of(rank)).word();
      recorder.commit_put(room, bytes, put);
    } else {
      // Before it has a number, or it would wait for itself.
      pool::raise(slot().writes.write_up_to, pool::writes_begun(slot()));
      ASSERT_TRUE(comes_true([&] { return slot().writes.written_before >= WriteStamp{count_of(rank), 0}.word(); }, made_.pool));
      put.step = recorder.take_number(key_, 1, count_of(rank)).word();
      ASSERT_TRUE(comes_true([&] { return slot().writes.written_before >= put.step; }, made_.pool));
      store::SystemCalls calls;
      const std::vector<std::byte> content(bytes, value);
      const int descriptor = ::open(file().c_str(), O_WRONLY);
      ASSERT_EQ(pwrite(descriptor, content.data(), bytes, static_cast<off_t>(begin)), static_cast<ssize_t>(bytes));
      ::close(descriptor);
      recorder.commit_elsewhere(pool::PayloadPlace::file, 0, 0, put);
    }
    writes_.push_back({put.step, begin, begin + bytes, value});
  }
  // What the file is with the writes before that one.
  [[nodiscard]] std::vector<std::byte> model(WriteStamp before) const {
    std::vector<Written> sorted = writes_;
    std::sort(sorted.begin(), sorted.end(), [](const Written& a, const Written& b) { return a.stamp < b.stamp; });
    std::vector<std::byte> content;
    for (const Written& each : sorted) {
      if (each.stamp >= before.word()) break;
      if (content.size() < each.end) content.resize(each.end);
      std::fill(content.begin() + static_cast<std::ptrdiff_t>(each.begin), content.begin() + static_cast<std::ptrdiff_t>(each.end),
                each.value);
    }
    return content;
  }
  void close() {
    for (int rank = 0; rank < rank_count; ++rank) made_.pool.rank_progress(key_.slot, rank) = 1 | pool::rank_closed;
    pool::futex_signal(made_.pool.header().work);
  }
  void bring_all_together() {
    std::uint32_t most = 0;
    for (int rank = 0; rank < rank_count; ++rank) most = std::max<std::uint32_t>(most, count_of(rank));
    for (int rank = 0; rank < rank_count; ++rank) count_of(rank) = most;
    writes_ahead_ = 0;
  }
  // Any rank writes, or goes on, or all of them see what the file is; `each` comes between.
  template <class Each>
  void play(unsigned seed, int actions, Each each) {
    std::mt19937 random(seed);
    const auto below = [&](Bytes n) { return std::uniform_int_distribution<Bytes>(0, n - 1)(random); };
    for (int action = 0; action < actions; ++action) {
      const int rank = static_cast<int>(below(rank_count));
      const std::uint32_t least = pool::least_collective_count(made_.pool, key_.slot);
      const bool is_ahead = count_of(rank) != least;
      const auto kind = below(10);
      if (kind < 3 && count_of(rank) < least + 6) {
        count_of(rank).fetch_add(1);
      } else if (kind < 9) {
        if (is_ahead && ++writes_ahead_ == most_ahead) bring_all_together();
        const Bytes begin = below(file_bytes - 3000);
        const How how = !is_ahead && kind == 8 ? How::by_rank : How::captured;
        ASSERT_NO_FATAL_FAILURE(write(rank, begin, 1 + below(3000), std::byte(1 + action % 255), how));
      } else {
        const WriteStamp now{least, pool::writes_begun(slot())};
        ASSERT_TRUE(is_written(now)) << "after " << action << " actions";
        ASSERT_TRUE(*bytes_of_file(file()) == model(now)) << "after " << action << " actions";
      }
      each(action);
    }
  }

  static constexpr int most_ahead = 40;   // writes: there is room for so many in a journal
  TemporaryDirectory directory_;
  pool::TestPool made_;
  pool::OutputKey key_;
  store::SystemCalls calls_;
  std::vector<std::unique_ptr<pool::Recorder>> recorders_;
  std::vector<Written> writes_;
  int writes_ahead_ = 0;
};

TEST_F(BytesByCollectiveCount, NoRankFindsInTheFileWhatIsWrittenInALaterCallAndItStaysThere) {
  drain::Engine engine(made_.pool, plan_of_test(), calls_);
  for (unsigned seed = 0; seed < 4; ++seed) ASSERT_NO_FATAL_FAILURE(play(seed, 500, [](int) {}));
  close();
  ASSERT_TRUE(comes_true([&] { return slot().state == pool::OutputState::free; }, made_.pool));
  EXPECT_TRUE(*bytes_of_file(file()) == model({pool::last_collective_count, 0}));
  EXPECT_TRUE(made_.journals_are_empty());
}

TEST_F(BytesByCollectiveCount, AnotherDrainGoesOnInTheSameOrder) {
  auto engine = std::make_unique<drain::Engine>(made_.pool, plan_of_test(), calls_);
  ASSERT_NO_FATAL_FAILURE(play(7, 1500, [&](int action) {
    if (action % 97 != 0) return;
    engine->stop(drain::Engine::Unfinished::leave);
    engine = std::make_unique<drain::Engine>(made_.pool, plan_of_test(), calls_);
  }));
  close();
  ASSERT_TRUE(comes_true([&] { return slot().state == pool::OutputState::free; }, made_.pool));
  EXPECT_TRUE(*bytes_of_file(file()) == model({pool::last_collective_count, 0}));
}

TEST_F(BytesByCollectiveCount, RecoveryWritesWhatNoRankHasComeTo) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    {
      drain::Engine engine(made_.pool, plan_of_test(), calls_);
      ASSERT_NO_FATAL_FAILURE(play(100 + seed, 60, [](int) {}));
      engine.stop(drain::Engine::Unfinished::leave);
    }
    if (seed != 7) continue;
    // A rank was killed between taking a number and recording its write.
    static_cast<void>(recorders_[0]->take_number(key_, 1));
    count_of(1).fetch_add(2);
    write(1, 100, 2000, std::byte(0xee), How::captured);
    drain::Engine engine(made_.pool, plan_of_test(), calls_, drain::Ranks::gone);
    ASSERT_TRUE(engine.wait_until_idle(60));
  }
  EXPECT_TRUE(*bytes_of_file(file()) == model({pool::last_collective_count, 0}));
}

TEST_F(BytesByCollectiveCount, SpaceComesBackBehindWhatWaits) {
  drain::Engine engine(made_.pool, plan_of_test(), calls_);
  count_of(0) = 2;
  write(0, 0, 2000, std::byte(1), How::captured);   // the first number, and it stays in the pool
  for (int i = 0; i < 2000; ++i) write(1, 3000, 3000, std::byte(i % 255), How::captured);   // six times the pool
  EXPECT_EQ(slot().writes.written, 0u);
  EXPECT_EQ(pool::ranks_before_collective_count(made_.pool, key_.slot, 2), (std::vector{1, 2}));
  count_of(1) = count_of(2) = 2;
  ASSERT_TRUE(is_written({2, pool::writes_begun(slot())}));
  EXPECT_TRUE(*bytes_of_file(file()) == model({3, 0}));
  EXPECT_EQ(slot().writes.written, 2001u);
}

}  // namespace
}  // namespace glean::tests::bytes_by_collective_count_test
