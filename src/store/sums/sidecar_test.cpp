// SPDX-License-Identifier: BSD-3-Clause
#include "store/sums/sidecar.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

using Log = std::vector<std::string>;

Sidecar example_sidecar() {
  Sidecar sidecar;
  sidecar.file_bytes = 5000;
  sidecar.layout = {std::byte{1}, std::byte{2}, std::byte{3}};
  sidecar.sums = {{0, 100, 0, 1, true, 0x0123456789abcdef}, {512, 16, 64, 10, false, 7}, {520, 8, 64, 70, false, 8}};
  return sidecar;
}

TEST(Sidecar, SurvivesEncoding) {
  EXPECT_EQ(Sidecar::decode(example_sidecar().encode()), example_sidecar());
  EXPECT_EQ(Sidecar::decode(Sidecar{}.encode()), Sidecar{});
}

TEST(Sidecar, ThatIsCutLongerOrDamagedAnywhereIsRefused) {
  const auto sound = example_sidecar().encode();
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_THROW(static_cast<void>(Sidecar::decode(std::span(sound).first(size))), base::Error) << size;
  }
  auto longer = sound;
  longer.push_back(std::byte{0});
  EXPECT_THROW(static_cast<void>(Sidecar::decode(longer)), base::Error);
  for (std::size_t at = 0; at < sound.size(); ++at) {
    auto bytes = sound;
    bytes[at] ^= std::byte{0x10};
    EXPECT_THROW(static_cast<void>(Sidecar::decode(bytes)), base::Error) << at;
  }
}

TEST(Sidecar, WhoseSumsLeaveTheFileOrOverflowIsRefused) {
  constexpr Bytes huge = ~Bytes{0};
  for (const StridedSum& wrong : {StridedSum{4990, 11, 0, 1, false, 0}, StridedSum{0, 0, 0, 1, false, 0},
                                  StridedSum{0, 8, 0, 0, false, 0}, StridedSum{0, 8, 16, 1, false, 0},
                                  StridedSum{0, 8, 4, 2, false, 0}, StridedSum{0, 8, 5000, 2, false, 0},
                                  StridedSum{huge, 8, 0, 1, false, 0}, StridedSum{8, huge, 0, 1, false, 0},
                                  StridedSum{0, 8, huge, 2, false, 0}, StridedSum{0, 8, huge / 2 + 1, 3, false, 0}}) {
    Sidecar sidecar = example_sidecar();
    sidecar.sums = {wrong};
    EXPECT_THROW(static_cast<void>(Sidecar::decode(sidecar.encode())), base::Error) << wrong.begin << " " << wrong.stride;
  }
  Sidecar unordered = example_sidecar();
  std::swap(unordered.sums[1], unordered.sums[2]);
  EXPECT_THROW(static_cast<void>(Sidecar::decode(unordered.encode())), base::Error);
}

class SidecarOnDisk : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string file_ = directory_ / "chk.nc";
  FaultyCalls calls_;
};

TEST_F(SidecarOnDisk, AppearsWhenItIsPublishedAndIsReadThroughALink) {
  write_text(file_, "data");
  std::filesystem::create_symlink("chk.nc", directory_ / "link.nc");
  PreparedSidecar prepared(calls_, file_, example_sidecar());
  EXPECT_EQ(read_sidecar(calls_, file_), std::nullopt);

  calls_.log.clear();
  prepared.publish();

  EXPECT_EQ(calls_.log, (Log{"rename", "open", "fsync"}));
  EXPECT_EQ(read_sidecar(calls_, file_), example_sidecar());
  EXPECT_EQ(read_sidecar(calls_, directory_ / "link.nc"), example_sidecar());
  EXPECT_TRUE(std::filesystem::exists(directory_ / ".chk.nc.glean-sums"));
}

TEST_F(SidecarOnDisk, ThatIsNotPublishedLeavesNothing) {
  { const PreparedSidecar prepared(calls_, file_, example_sidecar()); }
  for (const std::string call : {"open", "fsync"}) {
    calls_.follow({on(call).once().fails(EIO)});
    EXPECT_THROW(PreparedSidecar(calls_, file_, example_sidecar()), base::Error);
  }
  calls_.follow({on("write").fails(ENOSPC)});
  EXPECT_THROW(PreparedSidecar(calls_, file_, example_sidecar()), base::Error);
  calls_.follow({on("rename").once().fails(EIO)});
  EXPECT_THROW(PreparedSidecar(calls_, file_, example_sidecar()).publish(), base::Error);

  EXPECT_TRUE(std::filesystem::is_empty(directory_.string()));
}

TEST_F(SidecarOnDisk, IsRemovedDurably) {
  remove_sidecar(calls_, file_);   // there is none
  PreparedSidecar(calls_, file_, example_sidecar()).publish();
  calls_.log.clear();

  remove_sidecar(calls_, file_);

  EXPECT_EQ(calls_.log, (Log{"unlink", "open", "fsync"}));
  EXPECT_EQ(read_sidecar(calls_, file_), std::nullopt);
}

TEST_F(SidecarOnDisk, ThatCannotBeReadIsAnErrorAndNotNoSidecar) {
  PreparedSidecar(calls_, file_, example_sidecar()).publish();
  calls_.follow({on("pread").once().fails(EIO)});
  EXPECT_THROW(static_cast<void>(read_sidecar(calls_, file_)), base::Error);
  write_text(directory_ / ".chk.nc.glean-sums", "GLEANSUM");
  EXPECT_THROW(static_cast<void>(read_sidecar(calls_, file_)), base::Error);
}

TEST_F(SidecarOnDisk, OfALongNameHasAShortEnoughOneOfItsOwn) {
  const std::string first = directory_ / std::string(255, 'a'), second = directory_ / (std::string(254, 'a') + "b");
  PreparedSidecar(calls_, first, example_sidecar()).publish();
  EXPECT_NE(sidecar_path(first), sidecar_path(second));
  EXPECT_EQ(read_sidecar(calls_, second), std::nullopt);
  EXPECT_EQ(read_sidecar(calls_, first), example_sidecar());
}

}  // namespace
}  // namespace glean::store
