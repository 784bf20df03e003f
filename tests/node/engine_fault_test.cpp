// SPDX-License-Identifier: BSD-3-Clause
//
// Every system call of the drain fails once, each in a run of its own.
#include <gtest/gtest.h>

#include <cerrno>
#include <tuple>
#include <vector>
#include <thread>

#include "drain/engine.hpp"
#include "virtual_ranks.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::engine_fault_test {
namespace {

constexpr int short_write = 0;   // instead of an errno

struct Fault {
  const char* name;
  std::string call;
  int error;
  bool survived;   // nothing is lost by it
  friend void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }
};

// Lets that call number `which` fail.
store::FaultPlan plan_of(const Fault& fault, int which) {
  auto one = [&] { return store::on(fault.call).number(static_cast<std::size_t>(which)); };
  store::FaultPlan plan{fault.error == short_write ? one().falls_short() : one().fails(fault.error)};
  if (fault.call == "ftruncate") plan.push_back(store::on("allocate").fails(EOPNOTSUPP));   // so that there is one
  return plan;
}

// Each with every full-pool policy, whose writes may fail as well.
class EngineUnderFaults : public testing::TestWithParam<std::tuple<Fault, base::WhenFull>> {};

std::string policy_name(base::WhenFull full) {
  if (full == base::WhenFull::synchronous) return "Synchronous";
  return full == base::WhenFull::spill ? "Spill" : "";
}

// Takes most of the pool away, so that the policy is needed.
class Squeeze {
 public:
  Squeeze(pool::Pool& pool, base::WhenFull full) : pool_(pool) {
    if (full == base::WhenFull::block) return;
    while (pool.header().used_chunks + 3 < pool.header().chunk_count) taken_.push_back(*pool.take_chunk());
  }
  ~Squeeze() {
    for (const auto chunk : taken_) pool_.drop_reference(chunk);
  }
  Squeeze(const Squeeze&) = delete;
  Squeeze& operator=(const Squeeze&) = delete;
  [[nodiscard]] Bytes bytes() const { return taken_.size() * pool_.header().chunk_bytes; }

 private:
  pool::Pool& pool_;
  std::vector<std::uint32_t> taken_;
};

// Either complete and published, or named as failed and invisible.
void expect_all_or_nothing(pool::Pool& pool, const VirtualOutput& output, pool::OutputKey key, const Fault& fault) {
  const auto& slot = pool.slot(key.slot);
  const auto file = bytes_of_file(output.description.names.final_path);
  if (slot.state == pool::OutputState::published) {
    EXPECT_EQ(slot.error, 0u);
    ASSERT_TRUE(file.has_value());
  } else {
    EXPECT_FALSE(fault.survived) << slot.message.data();
    EXPECT_EQ(slot.state, pool::OutputState::failed);
    EXPECT_NE(slot.error, 0u);
    EXPECT_NE(std::string(slot.message.data()), "");
  }
  EXPECT_TRUE(!file || *file == output.file()) << "half-written";
  EXPECT_TRUE(fault.call == "unlink" || !bytes_of_file(output.description.names.working_path));
}

TEST_P(EngineUnderFaults, PublishesAllOrNothingAndGoesOn) {
  const auto [fault, full] = GetParam();
  std::uint64_t taken = 0;   // by the policy
  int which = 0;
  for (bool reached = true; reached; ++which) {
    ASSERT_LT(which, 500);
    const store::TemporaryDirectory directory;
    std::mt19937 random(3);
    plan::NodePlan plan = pool::small_plan();
    plan.drain_threads = 1 + which % 2;
    plan.pool_bytes = full == base::WhenFull::block ? 288 * base::KiB : 232 * base::KiB;
    pool::TestPool made(2, plan);
    store::FaultyCalls calls(plan_of(fault, which));
    if (full == base::WhenFull::spill) made.spill_to(directory.string(), 64 * base::MiB);
    drain::Engine engine(made.pool, plan, calls);
    VirtualRanks ranks(made, full, calls);
    const Squeeze squeeze(made.pool, full);
    std::vector<VirtualOutput> outputs, next;
    for (const char* name : {"a.nc", "b.nc"}) outputs.push_back(VirtualOutput::random(random, 2, 2, directory / name));
    next.push_back(VirtualOutput::random(random, 2, 1, directory / "next.nc"));

    ASSERT_TRUE(ranks.run(outputs).empty()) << "call " << which;
    const auto keys = ranks.keys();
    ASSERT_TRUE(wait_until_finished(made.pool, keys)) << "call " << which;
    reached = calls.count(fault.call) > static_cast<std::size_t>(which);
    ASSERT_TRUE(ranks.run(next).empty()) << "call " << which;
    ASSERT_TRUE(wait_until_finished(made.pool, ranks.keys())) << "call " << which;
    engine.stop();

    SCOPED_TRACE("call " + std::to_string(which));
    int failed = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      expect_all_or_nothing(made.pool, outputs[o], keys[o], fault);
      failed += made.pool.slot(keys[o].slot).state == pool::OutputState::failed ? 1 : 0;
    }
    EXPECT_LE(failed, 1) << "one fault, one victim";
    EXPECT_TRUE(!reached || made.pool.slot(ranks.keys()[0].slot).state == pool::OutputState::published);
    EXPECT_EQ(made.pool.used_bytes(), squeeze.bytes());
    EXPECT_TRUE(made.journals_are_empty());
    taken += ranks.figures().synchronous_puts + ranks.figures().spilled_pieces;
  }
  const bool of_spilling = fault.call == "pread" || fault.call == "punch_hole";
  const bool may_be_none = fault.call == "unlink" || (of_spilling && full != base::WhenFull::spill) ||
                           ((fault.call == "ftruncate" || fault.call == "allocate") && full == base::WhenFull::synchronous);
  const bool kept_up = of_spilling && taken == 0;
  EXPECT_TRUE(which > 1 || may_be_none || kept_up) << "there was no such call";
  // In one round the drain may keep up.
  EXPECT_TRUE(full == base::WhenFull::block || taken > 0 || which == 1) << "the policy was never needed";
}

INSTANTIATE_TEST_SUITE_P(
    Each, EngineUnderFaults,
    testing::Combine(testing::Values(Fault{"OpenFails", "open", EMFILE, false}, Fault{"WriteFails", "write", EIO, false},
                    Fault{"WriteFindsTheDiskFull", "write", ENOSPC, false},
                    Fault{"WriteIsShort", "write", short_write, true},
                    Fault{"WriteIsInterrupted", "write", EINTR, true},
                    Fault{"ReadFails", "pread", EIO, false}, Fault{"ReadIsInterrupted", "pread", EINTR, true},
                    Fault{"PunchingFails", "punch_hole", EOPNOTSUPP, true},
                    Fault{"FsyncFails", "fsync", EIO, false},
                    Fault{"FtruncateFails", "ftruncate", EIO, false},
                    Fault{"AllocateFails", "allocate", EIO, false},
                    Fault{"AllocateFindsTheDiskFull", "allocate", ENOSPC, false},
                    Fault{"AllocateIsInterrupted", "allocate", EINTR, true},
                    Fault{"AllocateIsNotSupported", "allocate", EOPNOTSUPP, true},
                    Fault{"RenameFails", "rename", EIO, false}, Fault{"UnlinkFails", "unlink", EIO, false}),
                     testing::Values(base::WhenFull::block, base::WhenFull::synchronous, base::WhenFull::spill)),
    [](const auto& test) { return std::string(std::get<0>(test.param).name) + policy_name(std::get<1>(test.param)); });

TEST(EngineWithAFault, LosesAnOutputWhoseFsyncFailsInTheMiddleAndNeverTriesAgain) {
  const store::TemporaryDirectory directory;
  const auto plan = pool::small_plan();
  pool::TestPool made(1, plan);
  store::FaultyCalls calls({store::on("fsync").once().fails(EIO)});
  drain::Engine engine(made.pool, plan, calls);
  VirtualRanks ranks(made);
  auto recorder = ranks.recorder(0);
  std::mt19937 random(4);
  const auto output = VirtualOutput::random(random, 1, 2, directory / "lost.nc");
  const auto key = ranks.open(recorder, output);
  pool::OutputSlot& slot = made.pool.slot(key.slot);
  slot.steps.synchronize_up_to = 1;
  for (std::uint32_t step = 0; step < 2; ++step) {
    for (const auto& put : output.puts) {
      if (put.step == step) VirtualRanks::put(made, recorder, key, output, put);
    }
    ranks.report(recorder, key, 0, step + 1);
    while (step == 0 && slot.error == 0) std::this_thread::yield();
  }
  ranks.report(recorder, key, 0, 2 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(made.pool, {key}));
  EXPECT_EQ(slot.state, pool::OutputState::failed);
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
  EXPECT_EQ(bytes_of_file(output.description.names.working_path), std::nullopt);
}

}  // namespace
}  // namespace glean::tests::engine_fault_test
