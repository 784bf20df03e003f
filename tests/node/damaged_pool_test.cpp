// SPDX-License-Identifier: BSD-3-Clause
//
// What a drain makes of a pool that is not what ranks and drains have left; tests/fuzz/ finds such pools.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "virtual_ranks.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::damaged_pool_test {
namespace {

using store::TemporaryDirectory;

// One output of one rank with a fixed and a record variable, and what becomes of it.
class DamagedPool : public testing::Test {
 protected:
  DamagedPool() {
    output_.description.display_path = path_;
    output_.description.names = {path_ + ".part", path_};
    auto& layout = output_.description.layout;
    layout.header_bytes = 64;
    layout.variables.push_back({"fixed", mesh::Type::int8, {8, 8}, 64, 0, false, {}});
    layout.variables.push_back({"record", mesh::Type::int8, {16}, 128, 16, false, {}});
  }

  void open() { key_ = ranks_.open(recorder_, output_); }
  void put(std::uint64_t step, std::uint32_t variable, const mesh::Box& box) {
    VirtualRanks::put(made_, recorder_, key_, output_, {step, 0, variable, mesh::Type::int8, box});
  }
  void report(std::uint32_t progress) { ranks_.report(recorder_, key_, 0, progress); }
  [[nodiscard]] pool::OutputSlot& slot() { return made_.pool.slot(key_.slot); }
  // The oldest record that lies in the journal.
  [[nodiscard]] pool::Record& record() { return *reinterpret_cast<pool::Record*>(made_.pool.ring(0)); }
  void change_record(auto change) {
    change(record());
    record().checksum = pool::checksum_of(record());
  }

  drain::OutputTrace recovered() {
    drain::Engine engine(made_.pool, pool::small_plan(), calls_, drain::Ranks::gone);
    EXPECT_TRUE(engine.wait_until_idle(20));
    engine.stop();
    return engine.trace().outputs.at(0);
  }
  void expect_refused(const std::string& why) {
    const drain::OutputTrace trace = recovered();
    EXPECT_EQ(trace.state, "failed");
    EXPECT_NE(trace.note.find(why), std::string::npos) << trace.note;
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "output.nc";
  VirtualOutput output_;
  pool::TestPool made_{1};
  VirtualRanks ranks_{made_, 20};
  pool::Recorder recorder_ = ranks_.recorder(0);
  store::SystemCalls calls_;
  pool::OutputKey key_;
};

TEST_F(DamagedPool, StepsWithoutDataCostNothing) {
  open();
  put(3, 1, {{0}, {16}});
  report(pool::rank_steps | pool::rank_closed);
  const std::uint64_t before = base::now_ns();

  const drain::OutputTrace trace = recovered();

  EXPECT_EQ(trace.state, "published");
  EXPECT_EQ(trace.steps, pool::rank_steps);
  EXPECT_EQ(std::filesystem::file_size(path_), 128u + 4 * 16);
  EXPECT_LT(base::seconds(base::now_ns() - before), 20);   // one by one they take minutes
}

TEST_F(DamagedPool, AFillThatTheStorageDoesNotHoldIsNotPutTogether) {
  auto& variable = output_.description.layout.variables[0];
  variable.fill = true;
  variable.shape = {std::uint64_t{1} << 61};   // its windows would take more memory than there is
  output_.description.layout.variables.pop_back();
  open();
  report(1 | pool::rank_closed);

  EXPECT_EQ(recovered().state, "postponed");
}

TEST_F(DamagedPool, ARecordCannotAskForMoreThanItsPayloadIs) {
  output_.description.layout.variables[0].shape = {std::uint64_t{1} << 40, 2};
  open();
  report(1);
  put(1, 0, {{0, 0}, {4, 1}});   // would be undone, row by row
  change_record([&](pool::Record& record) { record.elements = record.box()[2] = std::uint64_t{1} << 40; });

  expect_refused("damaged journal record");
}

TEST_F(DamagedPool, ABoxOfOtherDimensionsIsRefusedInWhateverStateItsRecordIs) {
  open();
  put(0, 0, {{0, 0}, {8, 8}});
  change_record([](pool::Record& record) {
    record.variable = 1;
    record.state = pool::RecordState::written;
  });
  report(1 | pool::rank_closed);

  expect_refused("does not lie in variable 'record'");
}

TEST_F(DamagedPool, ASpilledPayloadOfAPoolThatSpillsNothingIsRefused) {
  open();
  put(0, 0, {{0, 0}, {8, 8}});
  change_record([](pool::Record& record) {
    record.place = pool::PayloadPlace::spill;
    record.payload_offset = std::uint64_t{1} << 60;
  });
  report(1 | pool::rank_closed);

  expect_refused("its pool spills nothing");
}

TEST_F(DamagedPool, WhatARankHasWrittenItselfIsInTheFile) {
  auto& variable = output_.description.layout.variables[0];
  variable.shape = {std::uint64_t{1} << 40, 2};
  variable.fill = true;   // looking for its holes would take a line for each row
  output_.description.layout.variables.pop_back();
  open();
  put(0, 0, {{0, 0}, {4, 1}});
  change_record([](pool::Record& record) {
    record.place = pool::PayloadPlace::file;
    record.elements = record.box()[2] = std::uint64_t{1} << 40;
  });
  report(1 | pool::rank_closed);

  expect_refused("is not in the file");
}

TEST_F(DamagedPool, HolesAreNotFilledWhileAPartOfAPutIsMissing) {
  output_.description.layout.variables[0].fill = true;
  open();
  put(0, 0, {{0, 0}, {4, 8}});
  change_record([](pool::Record& record) { record.elements = 16; });
  report(1 | pool::rank_closed);

  expect_refused("is not all there");
}

TEST_F(DamagedPool, WhatIsUndoneMustNotLieWhereSomethingWasPut) {
  open();
  put(0, 0, {{0, 0}, {8, 8}});
  report(1);
  put(1, 0, {{4, 0}, {2, 8}});

  expect_refused("overlapping puts of 'fixed'");
}

TEST_F(DamagedPool, NotesOfADrainThatCannotBeAreRefused) {
  const auto refused_with = [&](auto damage) {
    open();
    put(0, 1, {{0}, {16}});
    report(1 | pool::rank_closed);
    damage(slot());
    const drain::OutputTrace trace = recovered();
    EXPECT_EQ(trace.state, "failed");
    return trace.note.find("what the pool says of") != std::string::npos;
  };

  EXPECT_TRUE(refused_with([](pool::OutputSlot& slot) { slot.steps.written = 2; }));
  EXPECT_TRUE(refused_with([](pool::OutputSlot& slot) { slot.steps.synchronized = 1; }));
  EXPECT_TRUE(refused_with([](pool::OutputSlot& slot) { slot.steps.records = 2; }));
  EXPECT_TRUE(refused_with([](pool::OutputSlot& slot) { slot.steps.highest_end = std::uint64_t{1} << 40; }));
  EXPECT_TRUE(refused_with([](pool::OutputSlot& slot) { slot.state = static_cast<pool::OutputState>(77); }));
}

TEST_F(DamagedPool, AFileThatIsShorterThanWhatWasWrittenIsNotPublished) {
  open();
  report(2 | pool::rank_closed);
  slot().steps.written = slot().steps.records = 2;
  slot().steps.highest_end = 128 + 2 * 16;   // as if it had been

  expect_refused("shorter than what was written");
}

TEST_F(DamagedPool, AMessageWithoutAnEndIsCut) {
  open();
  slot().message.fill('x');
  slot().hint.fill('y');
  slot().error = 1;
  report(1 | pool::rank_closed);

  EXPECT_EQ(recovered().note, std::string(slot().message.size(), 'x'));
}

}  // namespace
}  // namespace glean::tests::damaged_pool_test
