// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs: whatever ranks write over each other, the file is what the writes make of it in their order.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "capture/full_pool_policy.hpp"
#include "drain/engine.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/futex.hpp"
#include "pool/test_pool.hpp"
#include "pool/wait.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"
#include "store/sums/verify.hpp"

namespace glean::tests::engine_bytes_test {
namespace {

using store::TemporaryDirectory;

mesh::Pattern random_pattern(std::mt19937& random, Bytes reach) {
  const auto upto = [&](Bytes n) { return std::uniform_int_distribution<Bytes>(1, n)(random); };
  mesh::Pattern pattern{.offset = upto(reach), .block_bytes = upto(upto(3) == 1 ? 9000 : 60), .levels = {}};
  for (int level = 0; level < static_cast<int>(upto(3)) - 1; ++level) {
    pattern.levels.insert(pattern.levels.begin(), {upto(12), pattern.end() - pattern.offset + upto(300) - 1});
  }
  return pattern.canonical();
}

class OutputOfBytes : public testing::Test {
 protected:
  static plan::NodePlan plan() {
    plan::NodePlan plan = pool::small_plan();
    plan.drain_threads = 2;
    return plan;
  }
  OutputOfBytes() : made_(3, plan()) {}

  pool::OutputKey open(const std::string& name, bool in_place = false) {
    auto description = raw_output(directory_ / (in_place ? name : "." + name + ".working"), directory_ / name);
    description.display_path = name;
    description.checksums = checksums_;
    return open_raw_output(made_, description);
  }
  // Rank `rank` writes `value` where the pattern says, in pieces of any size.
  void write(pool::Recorder& recorder, pool::OutputKey key, const mesh::Pattern& pattern, std::byte value, std::mt19937& random) {
    const mesh::Box box = box_of(pattern);
    for (Bytes done = 0; done < pattern.bytes();) {
      const Bytes wanted = std::min(pattern.bytes() - done, std::uniform_int_distribution<Bytes>(1, 5000)(random));
      const auto room = recorder.reserve(wanted, 1);
      std::fill_n(room.data, room.bytes, value);
      const std::uint64_t number = recorder.take_number(key, box.count.size()).number;
      recorder.commit_put(room, room.bytes, {key, number, 0, mesh::Type::uint8, &box, done, room.bytes});
      if (model_.size() < pattern.end()) model_.resize(pattern.end());
      pattern.for_each_run(done, room.bytes, {0, pattern.end()}, [&](mesh::Pattern::Run run) {
        std::fill_n(model_.begin() + static_cast<std::ptrdiff_t>(run.file_offset), run.bytes, value);
      });
      done += room.bytes;
    }
  }
  void close(pool::OutputKey key) {
    for (int rank = 0; rank < 3; ++rank) made_.pool.rank_progress(key.slot, rank) = 1 | pool::rank_closed;
    pool::futex_signal(made_.pool.header().work);
  }
  [[nodiscard]] bool wait_until_free(pool::OutputKey key) const {
    const std::uint64_t limit = base::now_ns() + 60'000'000'000;
    while (made_.pool.slot(key.slot).state == pool::OutputState::open && base::now_ns() < limit) usleep(500);
    return made_.pool.slot(key.slot).state == pool::OutputState::free;
  }
  void flush(pool::OutputKey key) {
    pool::OutputSlot& slot = made_.pool.slot(key.slot);
    const std::uint64_t all = slot.writes.begun;
    slot.writes.write_up_to = all;
    pool::futex_signal(made_.pool.header().work);
    const std::uint64_t limit = base::now_ns() + 60'000'000'000;
    while (slot.writes.written < all && base::now_ns() < limit) usleep(500);
    ASSERT_GE(slot.writes.written, all);
  }
  // Ranks take turns, so that the order is known.
  void write_in_turns(pool::OutputKey key, int writes, Bytes reach) {
    std::mutex turn;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        std::mt19937 random(static_cast<unsigned>(rank));
        pool::Recorder recorder(made_.pool, rank, 30, [] { return "a rank"; });
        for (int i = 0; i < writes; ++i) {
          const std::lock_guard lock(turn);
          write(recorder, key, random_pattern(random, reach), std::byte(1 + (i * 3 + rank) % 255), random);
        }
      });
    }
    for (auto& rank : ranks) rank.join();
  }
  [[nodiscard]] std::vector<std::byte> content(const std::string& name) const { return *bytes_of_file(directory_ / name); }

  TemporaryDirectory directory_;
  pool::TestPool made_;
  store::SystemCalls calls_;
  std::vector<std::byte> model_;
  bool checksums_ = false;
};

TEST_F(OutputOfBytes, LaterWritesWinWhicheverRankMadeThem) {
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("overlaps");
  write_in_turns(key, 400, 60'000);
  EXPECT_NO_THROW(static_cast<void>(content(".overlaps.working")));
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("overlaps") == model_);
  EXPECT_TRUE(made_.journals_are_empty());
}

TEST_F(OutputOfBytes, ChecksumsAreOfWhatIsInTheFileAtTheEnd) {
  checksums_ = true;
  store::write_text(directory_ / "summed", std::string(100'000, 'x'));
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("summed", true);
  write_in_turns(key, 30, 120'000);
  flush(key);
  ASSERT_EQ(truncate((directory_ / "summed").c_str(), 5'000), 0);
  std::mt19937 random{9};
  pool::Recorder recorder(made_.pool, 1, 30, [] { return "a rank"; });
  write(recorder, key, {.offset = 9'000, .block_bytes = 500, .levels = {}}, std::byte(3), random);
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  engine.stop();
  const auto sidecar = store::read_sidecar(calls_, directory_ / "summed");
  ASSERT_TRUE(sidecar);
  EXPECT_TRUE(store::verify(calls_, directory_ / "summed", *sidecar).good());
}

TEST_F(OutputOfBytes, AreInTheWorkingFileWhenARankWantsThem) {
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("flushed");
  for (int i = 0; i < 20; ++i) {
    write_in_turns(key, 3, 30'000);
    flush(key);
    EXPECT_TRUE(content(".flushed.working") == model_);
  }
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("flushed") == model_);
}

TEST_F(OutputOfBytes, KeepWhatIsThereInPlaceAndDoNotMakeACutFileLongerAgain) {
  store::write_text(directory_ / "existing", std::string(100'000, 'x'));
  model_.assign(100'000, std::byte('x'));
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("existing", true);
  write_in_turns(key, 30, 120'000);
  flush(key);
  EXPECT_TRUE(content("existing") == model_);
  ASSERT_EQ(truncate((directory_ / "existing").c_str(), 10), 0);
  model_.resize(10);
  std::mt19937 random{9};
  pool::Recorder recorder(made_.pool, 1, 30, [] { return "a rank"; });
  write(recorder, key, {.offset = 20, .block_bytes = 5, .levels = {}}, std::byte(3), random);
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("existing") == model_);
}

TEST_F(OutputOfBytes, GoThroughThePageCacheForWhoReadsThem) {
  const auto direct_bytes = [&](const std::string& name, bool is_read) {
    const auto key = open(name);
    model_.clear();
    std::mt19937 random{3};
    pool::Recorder recorder(made_.pool, 0, 30, [] { return "a rank"; });
    write(recorder, key, {.offset = 0, .block_bytes = 60'000, .levels = {}}, std::byte(4), random);
    pool::OutputSlot& slot = made_.pool.slot(key.slot);
    if (is_read) slot.writes.read_up_to = slot.writes.begun.load();
    drain::Engine engine(made_.pool, plan(), calls_);
    close(key);
    EXPECT_TRUE(wait_until_free(key));
    engine.stop();
    EXPECT_TRUE(content(name) == model_);
    return engine.trace().requests.direct_bytes;
  };
  if (direct_bytes("not read", false) == 0) GTEST_SKIP() << "no direct I/O here";
  EXPECT_EQ(direct_bytes("read", true), 0U);
}

// The drain writes whole blocks of long ones from where they lie in the pool, directly or through the page cache.
TEST(OutputOfLongWrites, IsWhatTheWritesMakeOfItInTheirOrder) {
  plan::NodePlan plan = pool::roomy_plan(96 * base::MiB);
  plan.chunk_bytes = base::MiB;
  plan.request_bytes = 4 * base::MiB;
  plan.drain_threads = 2;
  store::SystemCalls calls;
  std::mt19937 random(11);
  const auto upto = [&](Bytes n) { return std::uniform_int_distribution<Bytes>(0, n)(random); };
  for (const bool is_read : {false, true}) {
    const TemporaryDirectory directory;
    pool::TestPool made(3, plan);
    const auto key = open_raw_output(made, raw_output(directory / ".a.working", directory / "a"));
    pool::OutputSlot& slot = made.pool.slot(key.slot);
    if (is_read) slot.writes.read_up_to = std::numeric_limits<std::uint64_t>::max();
    drain::Engine engine(made.pool, plan, calls);
    std::vector<std::byte> model, values(6 * base::MiB);
    for (std::byte& value : values) value = static_cast<std::byte>(random());
    constexpr int writes = 25;
    for (int i = 0; i < writes; ++i) {
      const int rank = i % 3;
      pool::Recorder recorder(made.pool, rank, 30, [] { return "a rank"; });
      capture::FullPoolPolicy policy(made.pool, recorder, rank, calls);
      const bool meets_none = i == writes - 1;   // however much the drain finds at once
      const Bytes step = i % 5 == 0 ? 1 : 8, shift = upto(base::MiB);
      const Bytes bytes = meets_none ? 3 * base::MiB : base::MiB + upto(4 * base::MiB);
      const Bytes offset = meets_none ? 32 * base::MiB : upto(24 * base::MiB / step) * step;
      const mesh::Pattern place{.offset = offset, .block_bytes = bytes, .levels = {}};
      const mesh::Box box = box_of(place);
      policy.write({key, base::WhenFull::block, 0, &place, &box, [](const pool::WriteStamp&) {}},
                   [&](std::uint64_t first, std::uint64_t elements, std::byte* target) {
                     std::memcpy(target, values.data() + shift + first, elements);
                   });
      if (model.size() < place.end()) model.resize(place.end());
      std::memcpy(model.data() + place.offset, values.data() + shift, bytes);
    }
    for (int rank = 0; rank < 3; ++rank) made.pool.rank_progress(key.slot, rank) = 1 | pool::rank_closed;
    pool::futex_signal(made.pool.header().work);
    pool::Wait wait(made.pool.header().progress, 60, 1'000'000);
    ASSERT_TRUE(wait.until([&] { return slot.state == pool::OutputState::free; }));
    engine.stop();
    EXPECT_TRUE(*bytes_of_file(directory / "a") == model) << is_read;
    EXPECT_GT(engine.trace().from_pool_bytes, base::MiB) << is_read;
    EXPECT_TRUE(made.journals_are_empty());
  }
}

// One thread drains, and the storage has all the time in the world for the file before.
TEST_F(OutputOfBytes, AreWrittenWhileAnotherIsSynchronized) {
  plan::NodePlan plan = pool::small_plan();
  plan.drain_threads = 1;
  std::atomic<bool> is_synchronizing = false, may_end = false;
  store::FaultyCalls calls({store::on("fsync").once().before([&] {
    is_synchronizing = true;
    while (!may_end) usleep(500);
  })});
  drain::Engine engine(made_.pool, plan, calls);
  const auto first = open("first");
  write_in_turns(first, 3, 30'000);
  const auto model_of_first = std::exchange(model_, {});
  close(first);
  const std::uint64_t limit = base::now_ns() + 60'000'000'000;
  while (!is_synchronizing && base::now_ns() < limit) usleep(500);

  const auto second = open("second");
  write_in_turns(second, 3, 30'000);
  flush(second);
  EXPECT_TRUE(content(".second.working") == model_);
  close(second);

  EXPECT_TRUE(is_synchronizing);
  EXPECT_EQ(made_.pool.slot(first.slot).state.load(), pool::OutputState::open);
  may_end = true;
  ASSERT_TRUE(wait_until_free(first));
  ASSERT_TRUE(wait_until_free(second));
  EXPECT_TRUE(content("first") == model_of_first);
  EXPECT_TRUE(content("second") == model_);
}

TEST_F(OutputOfBytes, KeepTheirNameWhileARankOpensThem) {
  ASSERT_TRUE(made_.pool.claim_rank(1));
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("held");
  write_in_turns(key, 3, 30'000);
  pool::OutputSlot& slot = made_.pool.slot(key.slot);
  slot.name_lock = 1 + 1;
  close(key);
  flush(key);
  EXPECT_TRUE(content(".held.working") == model_);
  usleep(50'000);   // time to do what it must not
  EXPECT_EQ(slot.state, pool::OutputState::open);
  EXPECT_FALSE(bytes_of_file(directory_ / "held"));
  slot.name_lock = 0;
  pool::futex_signal(made_.pool.header().work);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("held") == model_);
}

TEST_F(OutputOfBytes, ArePublishedWhenTheRankThatOpenedThemIsGone) {
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("left");
  made_.pool.slot(key.slot).name_lock = 1 + 1;   // which no process has claimed
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("left").empty());
}

TEST_F(OutputOfBytes, AnEmptyFileIsPublishedToo) {
  drain::Engine engine(made_.pool, plan(), calls_);
  const auto key = open("empty");
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("empty").empty());
}

// The pool holds all of it; one drain after the other stops in the middle of it.
TEST_F(OutputOfBytes, AreWrittenByTheDrainThatTakesOver) {
  const auto key = open("taken");
  for (int round = 0; round < 6; ++round) {
    drain::Engine engine(made_.pool, plan(), calls_);
    write_in_turns(key, 40, 60'000);
    pool::futex_signal(made_.pool.header().work);
    usleep(1000 * static_cast<useconds_t>(round));
    engine.stop(drain::Engine::Unfinished::leave);
  }
  drain::Engine engine(made_.pool, plan(), calls_);
  close(key);
  ASSERT_TRUE(wait_until_free(key));
  EXPECT_TRUE(content("taken") == model_);
}

TEST_F(OutputOfBytes, WithoutRanksWhatWasClosedIsCompletedAndTheRestIsNot) {
  const auto closed = open("closed");
  write_in_turns(closed, 2, 30'000);
  close(closed);
  const auto closed_model = std::exchange(model_, {});
  const auto open_one = open("open");
  write_in_turns(open_one, 1, 3'000);
  // A rank was killed between taking a number and recording its write.
  made_.pool.slot(open_one.slot).writes.begun += 1;
  store::write_text(directory_ / "in place", "abc");
  model_ = {std::byte('a'), std::byte('b'), std::byte('c')};
  const auto in_place = open("in place", true);
  made_.pool.slot(in_place.slot).writes.begun += 1;
  write_in_turns(in_place, 1, 3'000);

  drain::Engine engine(made_.pool, plan(), calls_, drain::Ranks::gone);
  ASSERT_TRUE(engine.wait_until_idle(60));
  engine.stop();
  EXPECT_TRUE(content("closed") == closed_model);
  EXPECT_TRUE(content("in place") == model_);
  EXPECT_FALSE(bytes_of_file(directory_ / "open"));
  EXPECT_FALSE(bytes_of_file(directory_ / ".open.working"));
}

}  // namespace
}  // namespace glean::tests::engine_bytes_test
