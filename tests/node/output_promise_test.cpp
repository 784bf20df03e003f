// SPDX-License-Identifier: BSD-3-Clause
//
// What the program was told is safe is in a file, whatever dies or fails afterwards.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "capture/full_pool_policy.hpp"
#include "pool/lamport_clock.hpp"
#include "service/recovery.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/futex.hpp"
#include "pool/test_pool.hpp"
#include "store/posix/temporary_directory.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::tests::output_promise_test {
namespace {

constexpr int two_ranks = 2;
constexpr Bytes block = 1000;

bool eventually(const std::function<bool()>& holds) {
  for (const std::uint64_t limit = base::now_ns() + 60'000'000'000; !holds(); usleep(500)) {
    if (base::now_ns() > limit) return false;
  }
  return true;
}

class Promised : public testing::Test {
 protected:
  Promised() : made_(std::make_unique<pool::TestPool>(two_ranks, pool::roomy_plan())), ranks_(*made_) {}
  ~Promised() override { shm_unlink(name_.c_str()); }

  // -- a raw output
  void open() {
    key_ = open_raw_output(*made_, raw_output(directory_ / ".x.working", path_));
  }
  void write(int rank, Bytes at, char value) {
    auto recorder = ranks_.recorder(rank);
    capture::FullPoolPolicy policy(made_->pool, recorder, rank, calls_);
    const mesh::Pattern place{.offset = at, .block_bytes = block, .levels = {}};
    const mesh::Box box = box_of(place);
    policy.write({key_, base::WhenFull::block, 0, &place, &box, [](const pool::WriteStamp&) {}},
                 [&](std::uint64_t, std::uint64_t bytes, std::byte* target) { std::fill_n(target, bytes, std::byte(value)); });
  }
  // All ranks have been told so.
  void synchronize() { slot().synchronized_writes = 1 + pool::writes_begun(slot()); }
  void close(std::uint32_t flags = 0) {
    for (int rank = 0; rank < two_ranks; ++rank) made_->pool.rank_progress(key_.slot, rank) = 1 | pool::rank_closed | flags;
    pool::futex_signal(made_->pool.header().work);
  }
  [[nodiscard]] std::string in_blocks(const std::string& values) const {
    std::string text;
    for (const char value : values) text.append(block, value);
    return text;
  }

  pool::OutputSlot& slot() { return made_->pool.slot(key_.slot); }
  // This process uses the pool no more.
  const std::string& leave() {
    name_ = made_->pool.name();
    const pool::Pool unmapped = std::move(made_->pool);
    return name_;
  }
  drain::OutputTrace recover_it() {
    const service::Recovered recovered = service::recover(leave(), calls_, [] {});
    EXPECT_TRUE(recovered.pool_removed);
    EXPECT_EQ(recovered.outputs.size(), 1U);
    EXPECT_FALSE(std::filesystem::exists(directory_ / ".x.working"));
    return recovered.outputs.empty() ? drain::OutputTrace{} : recovered.outputs[0];
  }

  store::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "x", unclosed_ = directory_ / "x.unclosed";
  store::SystemCalls calls_;
  std::unique_ptr<pool::TestPool> made_;
  VirtualRanks ranks_;
  pool::OutputKey key_;
  std::string name_;
};

TEST_F(Promised, BytesAppearUnderTheirNameWithWhatWasWrittenLater) {
  open();
  write(0, 0, 'a');
  write(1, block, 'b');
  synchronize();
  write(1, 2 * block, 'c');
  made_->pool.rank_progress(key_.slot, 0) = 1 | pool::rank_closed;

  const service::Remains remains = service::look_at(leave());
  ASSERT_EQ(remains.outputs.size(), 1U);
  EXPECT_TRUE(remains.outputs[0].synchronized);
  EXPECT_EQ(remains.outputs[0].problem, "");
  EXPECT_FALSE(service::remove_if_finished(name_)) << "it is to be published";
  const service::Recovered recovered = service::recover(name_, calls_, [] {});

  ASSERT_EQ(recovered.outputs.size(), 1U);
  EXPECT_EQ(recovered.outputs[0].state, "published");
  EXPECT_EQ(recovered.outputs[0].unclosed_path, path_);
  EXPECT_NE(recovered.outputs[0].note.find("rank 1 had not closed it"), std::string::npos) << recovered.outputs[0].note;
  EXPECT_EQ(store::read_text(path_), in_blocks("abc"));
}

TEST_F(Promised, BytesAppearBesideAFileThatIsThere) {
  open();
  write(0, 0, 'a');
  synchronize();
  store::write_text(path_, "precious");   // later than the working file
  store::write_text(unclosed_, "of an earlier crash");

  const drain::OutputTrace trace = recover_it();

  EXPECT_EQ(trace.state, "published");
  EXPECT_EQ(trace.unclosed_path, unclosed_);
  EXPECT_NE(trace.note.find("'" + unclosed_ + "'"), std::string::npos) << trace.note;
  EXPECT_EQ(store::read_text(path_), "precious");
  EXPECT_EQ(store::read_text(unclosed_), in_blocks("a"));
}

TEST_F(Promised, BytesThatWereNeverSynchronizedDoNotAppear) {
  open();
  write(0, 0, 'a');

  EXPECT_EQ(recover_it().state, "failed");

  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(unclosed_));
}

TEST_F(Promised, BytesThatAllHaveClosedReplaceWhatIsThere) {
  store::write_text(path_, "old");
  open();
  write(0, 0, 'a');
  synchronize();
  close();

  EXPECT_EQ(recover_it().unclosed_path, "");

  EXPECT_EQ(store::read_text(path_), in_blocks("a"));
}

TEST_F(Promised, BytesAreFoundByARecoveryAfterOneThatWasKilledAsItPublished) {
  open();
  write(0, 0, 'a');
  synchronize();
  store::write_text(path_, "precious");
  struct stat status {};
  ASSERT_EQ(stat((directory_ / ".x.working").c_str(), &status), 0);
  slot().publishing_inode = slot().working_inode = status.st_ino;
  std::filesystem::rename(directory_ / ".x.working", unclosed_);

  EXPECT_EQ(recover_it().unclosed_path, unclosed_);

  EXPECT_EQ(store::read_text(unclosed_), in_blocks("a"));
  EXPECT_EQ(store::read_text(path_), "precious");
}

TEST_F(Promised, BytesStayWhenTheirOutputFails) {
  drain::Engine engine(made_->pool, pool::roomy_plan(), calls_);
  open();
  write(0, 0, 'a');
  slot().writes.write_up_to = pool::writes_begun(slot());
  pool::futex_signal(made_->pool.header().work);
  ASSERT_TRUE(eventually([&] { return slot().writes.written == 1; }));
  synchronize();

  pool::fail(slot(), 1, "the disk is full", "");
  close();

  ASSERT_TRUE(eventually([&] { return !engine.trace().outputs.empty() && engine.trace().outputs[0].state != "open"; }));
  EXPECT_EQ(engine.trace().outputs[0].state, "failed");
  EXPECT_EQ(engine.trace().outputs[0].unclosed_path, path_);
  EXPECT_EQ(store::read_text(path_), in_blocks("a"));
}

TEST_F(Promised, AFileThatTheProgramHasRemovedDoesNotComeBack) {
  open();
  write(0, 0, 'a');
  synchronize();
  std::filesystem::remove(directory_ / ".x.working");

  recover_it();

  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Steps of an output that are durable before `then`.
class PromisedSteps : public Promised {
 protected:
  void make_durable(std::uint32_t steps) {
    output_ = VirtualOutput::random(random_, two_ranks, 3, path_);
    auto opener = ranks_.recorder(0);
    key_ = ranks_.open(opener, output_);
    for (int rank = 0; rank < two_ranks; ++rank) {
      auto recorder = ranks_.recorder(rank);
      for (const auto& put : output_.puts) {
        if (put.rank == rank && put.step < steps) VirtualRanks::put(*made_, recorder, key_, output_, put);
      }
      ranks_.report(recorder, key_, rank, steps);
    }
    slot().steps.synchronize_up_to = steps;
    pool::futex_signal(made_->pool.header().work);
    ASSERT_TRUE(eventually([&] { return slot().steps.synchronized >= steps; }));
    slot().synchronized_writes = 1 + std::uint64_t{steps};   // all ranks have been told so
  }
  // Its header says how many steps there are.
  void expect_steps_in(const std::string& path, std::uint64_t steps) {
    const auto whole = first_steps(output_, steps).file();
    const auto found = bytes_of_file(path);
    ASSERT_TRUE(found.has_value()) << path;
    const Bytes header = output_.description.layout.header_bytes;
    ASSERT_GE(found->size(), header);
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(header), found->begin()));
  }

  std::mt19937 random_{11};
  VirtualOutput output_;
};

TEST_F(PromisedSteps, StayWhenARankAbandonsTheOutput) {
  store::write_text(path_, "precious");
  drain::Engine engine(made_->pool, pool::roomy_plan(), calls_);
  make_durable(2);

  close(pool::rank_abandoned);

  ASSERT_TRUE(eventually([&] { return !engine.trace().outputs.empty() && engine.trace().outputs[0].state != "open"; }));
  EXPECT_EQ(engine.trace().outputs[0].state, "abandoned");
  expect_steps_in(unclosed_, 2);
  EXPECT_EQ(store::read_text(path_), "precious");
}

TEST_F(PromisedSteps, StayWhenWhatALaterStepHasWrittenCannotBeUndone) {
  {
    drain::Engine engine(made_->pool, pool::roomy_plan(), calls_);
    make_durable(2);
    engine.stop(drain::Engine::Unfinished::leave);
  }
  made_->pool.rank_progress(key_.slot, 1) = 3;   // and rank 0 has not ended it
  slot().steps.records_given_up = 1;

  const drain::OutputTrace trace = recover_it();

  EXPECT_EQ(trace.state, "failed");
  EXPECT_EQ(trace.unclosed_path, path_);
  expect_steps_in(path_, 2);
}

TEST(Unclosed, NamesThatAreTooLongAreCut) {
  const std::string longest(255, 'n'), other = std::string(254, 'n') + "m";
  EXPECT_EQ(store::unclosed_path("/d/x"), "/d/x.unclosed");
  EXPECT_EQ(store::unclosed_path("/d/" + longest).size(), 3 + longest.size());
  EXPECT_NE(store::unclosed_path("/d/" + longest), store::unclosed_path("/d/" + other));
}

}  // namespace
}  // namespace glean::tests::output_promise_test
