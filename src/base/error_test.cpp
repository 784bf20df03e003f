// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace glean::base {
namespace {

TEST(SystemError, SaysWhatFailedAndWhy) {
  EXPECT_STREQ(system_error(ENOSPC, "cannot write 'x.nc'").what(), "cannot write 'x.nc': No space left on device");
}

TEST(SystemError, ChoosesTheCodeByTheCause) {
  EXPECT_EQ(system_error(ENOSPC, "").code(), Errc::no_space);
  EXPECT_EQ(system_error(EDQUOT, "").code(), Errc::no_space);
  EXPECT_EQ(system_error(EROFS, "").code(), Errc::permission);
  EXPECT_EQ(system_error(EEXIST, "").code(), Errc::exists);
  EXPECT_EQ(system_error(ENOENT, "").code(), Errc::not_found);
  EXPECT_EQ(system_error(EIO, "").code(), Errc::io);
}

TEST(SystemError, SaysWhatToDoAboutAFullDisk) { EXPECT_FALSE(system_error(ENOSPC, "").hint().empty()); }

}  // namespace
}  // namespace glean::base
