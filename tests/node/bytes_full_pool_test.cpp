// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs in a full pool: writes that ranks spill or make themselves, failing storage, and processes that are killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "capture/full_pool_policy.hpp"
#include "service/recovery.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/futex.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::bytes_full_pool_test {
namespace {

using store::TemporaryDirectory;
using base::WhenFull;

constexpr int rank_count = 3;
constexpr Bytes block = 40'000, blocks = 8;   // of a rank

plan::NodePlan tight_plan() {
  plan::NodePlan plan = pool::small_plan();
  plan.drain_threads = 2;
  return plan;
}

// What ranks have written and know of, in memory that outlives them.
struct Witness {
  std::atomic<std::uint64_t> written[rank_count];
  std::atomic<std::uint32_t> stop, has_drain;
};

// Write `i` of a rank: one of its blocks, or the half of two.
mesh::Pattern place_of(int rank, std::uint64_t i) {
  const Bytes begin = static_cast<Bytes>(rank) * blocks * block + i * 7 % (blocks - 1) * block;
  if (i % 3 == 0) return {.offset = begin + block / 2, .block_bytes = block, .levels = {}};
  if (i % 3 == 1) return {.offset = begin, .block_bytes = 100, .levels = {{150, 200}}};
  return {.offset = begin, .block_bytes = block, .levels = {}};
}

std::byte value_of(int rank, std::uint64_t i) { return std::byte(1 + (i * rank_count + static_cast<std::uint64_t>(rank)) % 255); }

void apply(std::vector<std::byte>& model, int rank, std::uint64_t i) {
  const auto place = place_of(rank, i);
  place.for_each_run(0, place.bytes(), {0, place.end()}, [&](mesh::Pattern::Run run) {
    std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(run.file_offset), run.bytes, value_of(rank, i));
  });
}

class FullPool : public testing::Test {
 protected:
  FullPool() {
    void* memory = mmap(nullptr, sizeof(Witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    witness_ = new (memory) Witness{};
    make();
  }
  ~FullPool() override {
    end_all();
    if (!name_.empty()) shm_unlink(name_.c_str());
    munmap(witness_, sizeof(Witness));
  }

  void make() {
    made_ = std::make_unique<pool::TestPool>(rank_count, tight_plan(), pool::TestPool::Drain::elsewhere);
    made_->spill_to(directory_ / "", 256 * base::KiB);
    while (made_->pool.header().used_chunks + 30 < made_->pool.header().chunk_count) static_cast<void>(made_->pool.take_chunk());
  }
  // Written in place: whatever is captured has to be in it.
  void open() { key_ = open(file()); }
  [[nodiscard]] pool::OutputKey open(const std::string& path) const {
    store::write_text(path, "");
    return open_raw_output(*made_, raw_output(path, path));
  }
  [[nodiscard]] std::string file() const { return directory_ / "file"; }
  static void write(capture::FullPoolPolicy& policy, pool::Pool& pool, pool::OutputKey key, WhenFull full, const mesh::Pattern& place,
                    std::byte value) {
    const mesh::Box box = box_of(place);
    pool::OutputSlot& slot = pool.slot(key.slot);
    const auto wait_for_turn = [&](const pool::WriteStamp& stamp) { wait_for(pool, slot, stamp.number); };
    policy.write({key, full, 0, &place, &box, wait_for_turn},
                 [&](std::uint64_t, std::uint64_t bytes, std::byte* target) { std::fill_n(target, bytes, value); });
  }
  static void wait_for(pool::Pool& pool, pool::OutputSlot& slot, std::uint64_t number) {
    const std::uint64_t limit = base::now_ns() + 15'000'000'000;
    std::uint64_t wanted = slot.writes.write_up_to;
    while (wanted < number && !slot.writes.write_up_to.compare_exchange_weak(wanted, number)) {}
    while (slot.writes.written.load() < number && slot.error.load() == 0) {
      if (base::now_ns() > limit) throw base::Error(base::Errc::timeout, "waited for write " + std::to_string(number));
      const std::uint32_t seen = pool.header().progress.load();
      pool::futex_signal(pool.header().work);
      if (slot.writes.written.load() < number) pool::futex_wait(pool.header().progress, seen, 10'000'000);
    }
  }

  // -- as processes
  template <class Work>
  pid_t start(Work work) {
    const pid_t child = fork();
    if (child == 0) {
      int status = 1;
      try {
        pool::Pool pool = pool::Pool::attach(name_);
        status = work(pool);
      } catch (const base::Error& error) {
        static_cast<void>(::write(STDERR_FILENO, error.what(), std::strlen(error.what())));
      }
      _exit(status);
    }
    return children_.emplace_back(child);
  }
  // Ranks find it there, as in a session: they would not wait for one that is gone.
  pid_t start_drain() {
    witness_->has_drain = 0;
    const pid_t drain = start([this](pool::Pool& pool) {
      store::SystemCalls calls;
      if (!pool.claim_drain()) return 1;
      witness_->has_drain = 1;
      drain::Engine engine(pool, tight_plan(), calls);
      while (pool.slot(0).state != pool::OutputState::free) usleep(1000);
      return 0;
    });
    while (witness_->has_drain == 0 && waitpid(drain, nullptr, WNOHANG) == 0) usleep(100);
    return drain;
  }
  pid_t start_rank(int rank, WhenFull full) {
    return start([this, rank, full](pool::Pool& pool) {
      store::SystemCalls calls;
      if (!pool.claim_rank(rank)) return 1;
      pool.journal(rank).has_joined = 1;
      pool::Recorder recorder(pool, rank, 30, [] { return "a rank"; });
      capture::FullPoolPolicy policy(pool, recorder, rank, calls);
      while (witness_->stop == 0) {
        const std::uint64_t i = witness_->written[rank];
        write(policy, pool, key_, full, place_of(rank, i), value_of(rank, i));
        witness_->written[rank] = i + 1;
      }
      wait_for(pool, pool.slot(key_.slot), pool.slot(key_.slot).writes.begun);   // a flush: nothing is missing for ever
      return pool.slot(key_.slot).error == 0 ? 0 : 1;
    });
  }
  // This process does not use the pool any more.
  void leave() {
    name_ = made_->pool.name();
    const pool::Pool unmapped = std::move(made_->pool);
  }
  void end_all() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    for (const pid_t child : std::exchange(children_, {})) waitpid(child, nullptr, 0);
  }
  // All that each rank knows to be written is in the file; what it was just writing may be.
  void expect_all_written() {
    for (int rank = 0; rank < rank_count; ++rank) {
      std::vector<std::byte> least(rank_count * blocks * block), most;
      const std::uint64_t written = witness_->written[rank];
      for (std::uint64_t i = 0; i < written; ++i) apply(least, rank, i);
      most = least;
      apply(most, rank, written);
      auto found = *bytes_of_file(file());
      found.resize(least.size());
      Bytes wrong = 0;
      const Bytes begin = static_cast<Bytes>(rank) * blocks * block;
      for (Bytes at = begin; at < begin + blocks * block; ++at) wrong += found[at] != least[at] && found[at] != most[at];
      EXPECT_EQ(wrong, 0u) << "bytes of rank " << rank << " after " << written << " writes";
      EXPECT_GT(written, 0u);
    }
  }

  TemporaryDirectory directory_;
  std::unique_ptr<pool::TestPool> made_;
  Witness* witness_ = nullptr;
  pool::OutputKey key_;
  std::string name_;
  std::vector<pid_t> children_;
};

class BytesInAFullPool : public FullPool, public testing::WithParamInterface<WhenFull> {};

TEST_P(BytesInAFullPool, LoseNothingWhenARankIsKilledAndTheOthersGoOn) {
  open();
  leave();
  const pid_t drain = start_drain();
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < rank_count; ++rank) ranks.push_back(start_rank(rank, GetParam()));
  for (int rank = 0; rank < rank_count; ++rank) {
    while (witness_->written[rank] < 20) usleep(100);
  }
  usleep(static_cast<useconds_t>(base::now_ns() % 5000));
  kill(ranks[1], SIGKILL);
  waitpid(ranks[1], nullptr, 0);
  std::uint64_t before[] = {witness_->written[0], 0, witness_->written[2]};
  for (const int rank : {0, 2}) {
    const pid_t process = ranks[static_cast<std::size_t>(rank)];
    while (witness_->written[rank] < before[rank] + 20 && waitpid(process, nullptr, WNOHANG) == 0) usleep(100);
  }
  witness_->stop = 1;
  for (const int rank : {0, 2}) {
    int status = 0;
    ASSERT_EQ(waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0), ranks[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(status, 0);
  }
  expect_all_written();
  kill(drain, SIGKILL);
}

TEST_P(BytesInAFullPool, AreRecoveredWhenAllAreKilled) {
  for (int round = 0; round < 4; ++round) {
    if (round != 0) make();
    for (auto& written : witness_->written) written = 0;
    open();
    leave();
    start_drain();
    for (int rank = 0; rank < rank_count; ++rank) start_rank(rank, GetParam());
    for (int rank = 0; rank < rank_count; ++rank) {
      while (witness_->written[rank] < 10) usleep(100);
    }
    usleep(static_cast<useconds_t>(base::now_ns() % 20'000));
    end_all();

    store::SystemCalls calls;
    const service::Recovered recovered = service::recover(name_, calls, [] {});

    EXPECT_TRUE(recovered.pool_removed);
    ASSERT_EQ(recovered.outputs.size(), 1u);
    EXPECT_EQ(recovered.outputs[0].state, "published") << recovered.outputs[0].note;
    expect_all_written();
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.string()), {}), 1) << "the file, and no spill file";
  }
}

INSTANTIATE_TEST_SUITE_P(Each, BytesInAFullPool, testing::Values(WhenFull::block, WhenFull::spill, WhenFull::synchronous),
                         [](const auto& full) {
                           if (full.param == WhenFull::block) return std::string("Block");
                           return std::string(full.param == WhenFull::spill ? "Spill" : "Synchronous");
                         });

// A number that no rank records is passed over when its rank is gone, but not what was recorded after it, wherever that stands.
TEST_F(FullPool, PassesOverTheNumberOfARankThatIsGone) {
  open();
  pool::Pool& pool = made_->pool;
  store::SystemCalls calls;
  pool::Recorder recorder(pool, 0, 30, [] { return "rank 0"; });
  capture::FullPoolPolicy policy(pool, recorder, 0, calls);
  pool::Recorder lost(pool, 1, 30, [] { return "rank 1"; });
  static_cast<void>(lost.take_number(key_, 1));
  write(policy, pool, key_, WhenFull::block, place_of(0, 0), value_of(0, 0));
  {
    drain::Engine engine(pool, tight_plan(), calls);
    pool::OutputSlot& slot = pool.slot(key_.slot);
    const std::uint64_t all = slot.writes.begun;
    slot.writes.write_up_to = all;
    pool::futex_signal(pool.header().work);
    usleep(400'000);
    EXPECT_EQ(slot.writes.written, 0u) << "it may still come";

    pool.journal(1).has_joined = 1;   // and this process has not claimed it
    const std::uint64_t limit = base::now_ns() + 30'000'000'000;
    while (slot.writes.written < all && base::now_ns() < limit) usleep(1000);
    EXPECT_EQ(slot.writes.written, all);
    engine.stop(drain::Engine::Unfinished::leave);
  }
  std::vector<std::byte> model(place_of(0, 0).end());
  apply(model, 0, 0);
  EXPECT_TRUE(*bytes_of_file(file()) == model);
}

// In one journal stand writes of several outputs, and one of them waits for another rank.
TEST_F(FullPool, AnOutputIsNotFinishedBeforeAllOfItsWritesAreRead) {
  open();
  const pool::OutputKey other = open(directory_ / "other");
  pool::Pool& pool = made_->pool;
  store::SystemCalls calls;
  pool::Recorder recorder(pool, 0, 30, [] { return "rank 0"; }), late(pool, 1, 30, [] { return "rank 1"; });
  capture::FullPoolPolicy policy(pool, recorder, 0, calls);
  const std::uint64_t number = late.take_number(other, 1).number;
  write(policy, pool, other, WhenFull::block, place_of(0, 2), value_of(0, 2));
  write(policy, pool, key_, WhenFull::block, place_of(0, 2), value_of(0, 2));
  for (int rank = 0; rank < rank_count; ++rank) pool.rank_progress(key_.slot, rank) = 1 | pool::rank_closed;

  drain::Engine engine(pool, tight_plan(), calls);
  usleep(300'000);
  EXPECT_EQ(pool.slot(key_.slot).state, pool::OutputState::open);
  const mesh::Box nothing{{0}, {1}};
  static_cast<void>(late.commit_elsewhere(pool::PayloadPlace::file, 0, 0, {other, number, 0, mesh::Type::uint8, &nothing, 0, 1}));
  late.ring_the_drain();
  const std::uint64_t limit = base::now_ns() + 30'000'000'000;
  while (pool.slot(key_.slot).state == pool::OutputState::open && base::now_ns() < limit) usleep(1000);
  EXPECT_EQ(pool.slot(key_.slot).state, pool::OutputState::free);
  std::vector<std::byte> model(place_of(0, 2).end());
  apply(model, 0, 2);
  EXPECT_TRUE(*bytes_of_file(file()) == model);
  engine.stop(drain::Engine::Unfinished::leave);
}

TEST_F(FullPool, AWriteThatARankCannotMakeThrowsAndKeepsNoRankWaiting) {
  store::FaultyCalls full({store::on("write").fails(ENOSPC)});
  open();
  pool::Pool& pool = made_->pool;
  store::SystemCalls calls;
  drain::Engine engine(pool, tight_plan(), calls);
  std::vector<std::uint32_t> taken;
  while (const auto chunk = pool.take_chunk()) taken.push_back(*chunk);
  pool::Recorder recorder(pool, 0, 30, [] { return "rank 0"; });
  capture::FullPoolPolicy policy(pool, recorder, 0, full);
  try {
    write(policy, pool, key_, WhenFull::synchronous, place_of(0, 0), value_of(0, 0));
    ADD_FAILURE() << "the disk is full";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::no_space);
  }

  for (const auto chunk : taken) pool.drop_reference(chunk);
  pool::Recorder of_other(pool, 1, 30, [] { return "rank 1"; });
  capture::FullPoolPolicy other(pool, of_other, 1, calls);
  write(other, pool, key_, WhenFull::block, place_of(1, 0), value_of(1, 0));
  wait_for(pool, pool.slot(key_.slot), pool.slot(key_.slot).writes.begun);
  const auto found = *bytes_of_file(file());
  const auto place = place_of(1, 0);
  ASSERT_EQ(found.size(), place.end());
  EXPECT_EQ(std::count(found.end() - static_cast<std::ptrdiff_t>(place.block_bytes), found.end(), value_of(1, 0)), place.block_bytes);
  engine.stop(drain::Engine::Unfinished::leave);
}

TEST_F(FullPool, AFullSpillDirectoryMeansToWaitAndLeavesNoGap) {
  std::atomic<bool> has_failed = false;
  store::FaultyCalls full({store::on("pwrite").behind(1).before([&] { has_failed = true; }).fails(ENOSPC)});
  store::SystemCalls calls;
  open();
  pool::Pool& pool = made_->pool;
  std::vector<std::uint32_t> taken;
  while (const auto chunk = pool.take_chunk()) taken.push_back(*chunk);
  drain::Engine engine(pool, tight_plan(), calls);
  pool::Recorder recorder(pool, 0, 30, [] { return "rank 0"; });
  capture::FullPoolPolicy policy(pool, recorder, 0, full);
  std::thread back([&] {
    while (!has_failed) usleep(500);
    for (const auto chunk : taken) pool.drop_reference(chunk);
    pool.announce_space();
  });
  write(policy, pool, key_, WhenFull::spill, place_of(0, 0), value_of(0, 0));
  back.join();
  wait_for(pool, pool.slot(key_.slot), pool.slot(key_.slot).writes.begun);
  EXPECT_EQ(policy.figures().spilled_pieces, 0u);
  EXPECT_EQ(pool.header().spilled_bytes, pool::spill_alignment);
  std::vector<std::byte> model(place_of(0, 0).end());
  apply(model, 0, 0);
  EXPECT_TRUE(*bytes_of_file(file()) == model);
  engine.stop(drain::Engine::Unfinished::leave);
}

}  // namespace
}  // namespace glean::tests::bytes_full_pool_test
