// SPDX-License-Identifier: BSD-3-Clause
#include "store/sums/verify.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

using Kind = Difference::Kind;

// A file of 20 MiB: a header, rows of two boxes that interleave across the middle, and a block at the end; the rest
// was never written.
class VerifiedFile : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<Extent> left, right;
    for (Bytes row = 0; row < 1000; ++row) {
      left.push_back({base::MiB + row * 12000, base::MiB + row * 12000 + 4001});
      right.push_back({base::MiB + row * 12000 + 4001, base::MiB + row * 12000 + 9000});
    }
    sidecar_.file_bytes = content_.size();
    for (const auto& runs : {std::vector<Extent>{{0, 300}}, left, right, {{19 * base::MiB, 20 * base::MiB}}}) {
      for (const Extent& run : runs) {
        for (Bytes i = run.begin; i < run.end; ++i) content_[i] = static_cast<char>(i * 31 + i / 1000);
      }
      const auto sums = checksums_of(runs, reinterpret_cast<const std::byte*>(content_.data()), 0, runs.size() == 1);
      sidecar_.sums.insert(sidecar_.sums.end(), sums.begin(), sums.end());
    }
    write_text(path_, content_);
  }
  Verification verified() { return verify(calls_, path_, sidecar_); }
  void change(Bytes at) {
    content_[at] = static_cast<char>(content_[at] ^ 1);
    write_text(path_, content_);
  }
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "chk.nc";
  std::string content_ = std::string(20 * base::MiB, '\0');
  Sidecar sidecar_;
  FaultyCalls calls_;
};

TEST_F(VerifiedFile, IsGoodAsItIs) {
  ASSERT_EQ(sidecar_.sums.size(), 4u);
  const auto result = verified();
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.summed_bytes, 300 + 9000 * 1000 + base::MiB);
  EXPECT_EQ(result.read_back_bytes, 300 + base::MiB);
}

TEST_F(VerifiedFile, NamesTheSumInWhichAByteDiffers) {
  for (const auto& [at, sum] : {std::pair<Bytes, std::size_t>{299, 0}, {base::MiB, 1}, {base::MiB + 999 * 12000 + 4000, 1},
                                {base::MiB + 4001, 2}, {base::MiB + 700 * 12000 + 8999, 2}, {20 * base::MiB - 1, 3}}) {
    change(at);
    const auto result = verified();
    ASSERT_EQ(result.differences.size(), 1u) << at;
    EXPECT_EQ(result.differences[0].kind, Kind::changed);
    EXPECT_EQ(result.differences[0].sum, sidecar_.sums[sum]) << at;
    change(at);
  }
  EXPECT_TRUE(verified().good());
}

TEST_F(VerifiedFile, NamesWhatStandsInAHole) {
  for (const Bytes at : {Bytes{300}, base::MiB - 1, base::MiB + 9000, base::MiB + 999 * 12000 + 9000, 19 * base::MiB - 1}) {
    change(at);
    const auto result = verified();
    ASSERT_EQ(result.differences.size(), 1u) << at;
    EXPECT_EQ(result.differences[0].kind, Kind::not_zero);
    EXPECT_EQ(result.differences[0].extent, (Extent{at, at + 1}));
    change(at);
  }
}

TEST_F(VerifiedFile, ThatWasCutOrAppendedToIsNotGood) {
  ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(content_.size() - 1)), 0);
  auto result = verified();
  EXPECT_FALSE(result.good());
  EXPECT_EQ(result.found_bytes + 1, result.expected_bytes);
  EXPECT_EQ(result.differences.size(), 1u);

  write_text(path_, content_ + "x");
  result = verified();
  EXPECT_FALSE(result.good());
  EXPECT_TRUE(result.differences.empty());
}

TEST_F(VerifiedFile, IsNotReadBehindItsEndHoweverLongItsSidecarSaysItIs) {
  constexpr Bytes exbibyte = Bytes{1} << 60;
  sidecar_.file_bytes = exbibyte;   // chunk by chunk it would take hours
  sidecar_.sums.push_back({exbibyte / 2, exbibyte / 4, 0, 1, false, 1});

  const auto result = verified();

  EXPECT_FALSE(result.good());
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences[0].extent, (Extent{exbibyte / 2, exbibyte / 4 * 3}));
}

TEST_F(VerifiedFile, WithSumsThatOverlapIsNotGood) {
  sidecar_.sums.insert(sidecar_.sums.begin() + 1, sidecar_.sums[0]);
  sidecar_.sums[1].begin = 1;
  sidecar_.sums[1].length = 299;
  EXPECT_FALSE(verified().good());
}

TEST_F(VerifiedFile, IsReadDespiteInterruptionsAndErrorsAreThrown) {
  calls_.follow({on("pread").before_number(2).fails(EINTR)});
  EXPECT_TRUE(verified().good());
  calls_.follow({on("pread").once().fails(EIO)});
  EXPECT_THROW(verified(), base::Error);
  unlink(path_.c_str());
  EXPECT_THROW(verified(), base::Error);
}

TEST_F(VerifiedFile, MayHaveHolesLargerThanMemory) {
  constexpr Bytes tebibyte = 1024 * base::GiB;
  if (truncate(path_.c_str(), tebibyte) != 0) GTEST_SKIP() << "the file system has no files of 1 TiB";
  sidecar_.file_bytes = tebibyte;
  EXPECT_TRUE(verified().good());
}

TEST(PlaceIn, NamesTheVariableAndTheRecord) {
  FileLayout layout;
  layout.header_bytes = 100;
  layout.variables.push_back({"dens", mesh::Type::float32, {10}, 512, 0, false, {}});
  layout.variables.push_back({"time", mesh::Type::float64, {}, 552, 28, false, {}});
  layout.variables.push_back({"x", mesh::Type::float32, {5}, 560, 28, false, {}});

  EXPECT_EQ(place_in(layout, 99), "header");
  EXPECT_EQ(place_in(layout, 100), "");
  EXPECT_EQ(place_in(layout, 551), "'dens'");
  EXPECT_EQ(place_in(layout, 552), "record 0 of 'time'");
  EXPECT_EQ(place_in(layout, 579), "record 0 of 'x'");
  EXPECT_EQ(place_in(layout, 580 + 28), "record 2 of 'time'");
  EXPECT_EQ(place_in(layout, 588 + 28 * 7), "record 8 of 'x'");
}

}  // namespace
}  // namespace glean::store
