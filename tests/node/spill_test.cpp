// SPDX-License-Identifier: BSD-3-Clause
#include "drain/spill.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "virtual_ranks.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::spill_test {
namespace {

using base::WhenFull;

constexpr std::uint64_t elements = 40'000;   // of float64: many chunks of the small pool

// One rank, one output with one variable, and a pool of which nothing is free.
class Spilling : public testing::Test {
 protected:
  Spilling() {
    output_.description.display_path = directory_ / "spilled.nc";
    output_.description.names = {directory_ / "spilled.nc.part", directory_ / "spilled.nc"};
    output_.description.layout.header_bytes = 512;
    output_.description.layout.variables.push_back({"v", mesh::Type::float64, {elements}, 512, 0, false, {}});
    output_.steps = 1;
    output_.puts.push_back({0, 0, 0, mesh::Type::float64, {{0}, {elements}}});
  }

  void open() {
    key_ = ranks_.open(recorder_, output_);
    while (made_.pool.header().used_chunks < made_.pool.header().chunk_count) taken_.push_back(*made_.pool.take_chunk());
  }
  void give_chunks_back() {
    for (const auto chunk : taken_) made_.pool.drop_reference(chunk);
    taken_.clear();
  }
  void put(capture::FullPoolPolicy& policy) { VirtualRanks::put(policy, WhenFull::spill, key_, output_, output_.puts[0]); }
  void end() { ranks_.report(recorder_, key_, 0, 1 | pool::rank_closed); }
  // Drains it. Returns what was said of it.
  std::string drain() {
    store::SystemCalls calls;
    drain::Engine engine(made_.pool, pool::small_plan(), calls);
    EXPECT_TRUE(wait_until_finished(made_.pool, {key_}));
    return made_.pool.slot(key_.slot).message.data();
  }
  [[nodiscard]] std::string spill_file() const { return pool::spill_path(made_.pool, 0); }
  [[nodiscard]] bool is_published() const { return bytes_of_file(output_.description.names.final_path).has_value(); }

  store::TemporaryDirectory directory_;
  pool::TestPool made_{1};
  VirtualRanks ranks_{made_};
  pool::Recorder recorder_ = ranks_.recorder(0);
  VirtualOutput output_;
  pool::OutputKey key_;
  std::vector<std::uint32_t> taken_;
  store::SystemCalls calls_;
};

TEST_F(Spilling, BringsEverythingIntoTheFileAndGivesTheRoomBack) {
  made_.spill_to(directory_.string(), base::MiB);
  open();
  capture::FullPoolPolicy policy(made_.pool, recorder_, 0, calls_);

  put(policy);   // without a drain: it did not wait

  EXPECT_GT(policy.figures().spilled_bytes, elements * 8 - made_.pool.header().chunk_bytes);   // some was free
  EXPECT_EQ(policy.figures().waited.pool.times, 0u);
  const auto files = pool::spill_files(made_.pool);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_GE(files[0].stored_bytes, policy.figures().spilled_bytes);
  EXPECT_LE(made_.pool.header().spilled_bytes, base::MiB);
  end();
  EXPECT_EQ(drain(), "");
  EXPECT_TRUE(bytes_of_file(output_.description.names.final_path) == output_.file());
  EXPECT_EQ(made_.pool.header().spilled_bytes, pool::spill_alignment);   // the header
  EXPECT_GE(made_.pool.header().spill_high_water_bytes, policy.figures().spilled_bytes);
  EXPECT_LE(pool::spill_files(made_.pool).at(0).stored_bytes, 2 * pool::spill_alignment);
  made_.pool.remove();
  EXPECT_FALSE(std::filesystem::exists(files[0].path));
  give_chunks_back();
}

TEST_F(Spilling, IsBoundedByItsBudgetAndThenWaits) {
  constexpr Bytes budget = 64 * base::KiB;
  made_.spill_to(directory_.string(), budget);
  open();
  capture::FullPoolPolicy policy(made_.pool, recorder_, 0, calls_);
  drain::Engine engine(made_.pool, pool::small_plan(), calls_);
  give_chunks_back();
  std::vector<std::uint32_t> most;
  while (made_.pool.header().used_chunks + 2 < made_.pool.header().chunk_count) most.push_back(*made_.pool.take_chunk());

  put(policy);
  end();

  ASSERT_TRUE(wait_until_finished(made_.pool, {key_}));
  EXPECT_TRUE(bytes_of_file(output_.description.names.final_path) == output_.file());
  EXPECT_GT(policy.figures().spilled_bytes, 0u);
  EXPECT_LE(made_.pool.header().spill_high_water_bytes, budget);
  for (const auto chunk : most) made_.pool.drop_reference(chunk);
}

TEST_F(Spilling, AFullDirectoryMeansToWaitAsWithoutIt) {
  store::FaultyCalls calls({store::on("pwrite").number(3).falls_short(4096), store::on("pwrite").from(4).fails(ENOSPC)});
  made_.spill_to(directory_.string(), base::MiB);
  open();
  capture::FullPoolPolicy policy(made_.pool, recorder_, 0, calls);
  drain::Engine engine(made_.pool, pool::small_plan(), calls_);
  std::thread back([&] {
    while (made_.pool.header().waiting_for_space == 0) usleep(500);
    give_chunks_back();
  });

  put(policy);
  end();
  back.join();

  ASSERT_TRUE(wait_until_finished(made_.pool, {key_}));
  EXPECT_TRUE(bytes_of_file(output_.description.names.final_path) == output_.file());
  EXPECT_EQ(policy.figures().spilled_pieces, 2u);
  EXPECT_GT(policy.figures().waited.pool.times, 0u);
  EXPECT_EQ(calls.count("pwrite"), 5u) << "it is not tried again";
  EXPECT_EQ(made_.pool.header().spilled_bytes, pool::spill_alignment);
}

class DamagedSpillFile : public Spilling, public testing::WithParamInterface<Bytes> {};

// Bytes of the block's header, of its payload, and of the last block: never trusted.
TEST_P(DamagedSpillFile, LosesTheOutputAndNamesFileOffsetVariableAndStep) {
  made_.spill_to(directory_.string(), base::MiB);
  open();
  capture::FullPoolPolicy policy(made_.pool, recorder_, 0, calls_);
  put(policy);
  end();
  {
    std::fstream file(spill_file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(GetParam()));
    const char byte = static_cast<char>(file.get() ^ 0x40);
    file.seekp(static_cast<std::streamoff>(GetParam()));
    file.put(byte);
  }

  const std::string message = drain();

  EXPECT_FALSE(is_published());
  EXPECT_NE(message.find("'v' of '" + output_.description.display_path + "' in step 0"), std::string::npos) << message;
  EXPECT_NE(message.find("the spill file '" + spill_file() + "' at byte "), std::string::npos) << message;
  EXPECT_NE(message.find("is damaged"), std::string::npos) << message;
  give_chunks_back();
  EXPECT_EQ(made_.pool.used_bytes(), 0u);
  EXPECT_TRUE(made_.journals_are_empty());
  EXPECT_EQ(made_.pool.header().spilled_bytes, pool::spill_alignment);
}
INSTANTIATE_TEST_SUITE_P(Bytes, DamagedSpillFile, testing::Values(4096, 4096 + 20, 4096 + 128, 4096 + 3000, 8 * 8192 + 4096 + 700));

TEST_F(Spilling, AFileThatIsCutOffLosesTheOutput) {
  made_.spill_to(directory_.string(), base::MiB);
  open();
  capture::FullPoolPolicy policy(made_.pool, recorder_, 0, calls_);
  put(policy);
  end();
  std::filesystem::resize_file(spill_file(), 3 * 4096);

  EXPECT_NE(drain().find("it ends there"), std::string::npos);
  EXPECT_FALSE(is_published());
  give_chunks_back();
}

TEST_F(Spilling, AFileThatIsGoneLosesTheOutput) {
  made_.spill_to(directory_.string(), base::MiB);
  open();
  capture::FullPoolPolicy policy(made_.pool, recorder_, 0, calls_);
  put(policy);
  end();
  std::filesystem::remove(spill_file());

  EXPECT_NE(drain().find("cannot open the spill file"), std::string::npos);
  EXPECT_FALSE(is_published());
  give_chunks_back();
}

}  // namespace
}  // namespace glean::tests::spill_test
