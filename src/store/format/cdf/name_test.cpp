// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/name.hpp"

#include <gtest/gtest.h>

namespace glean::store {
namespace {

TEST(NetcdfName, MayHaveWhatNetcdfAllows) {
  for (const char* name : {"x", "_FillValue", "2d", "air temperature", "p+q@r(1)", "\u03a8", "gr\u00f6\u00dfe"}) {
    EXPECT_EQ(flaw_of_cdf_name(name), "") << name;
  }
  EXPECT_EQ(flaw_of_cdf_name(std::string(256, 'n')), "");
}

TEST(NetcdfName, HasItsFlawNamed) {
  EXPECT_EQ(flaw_of_cdf_name(""), "it is empty");
  EXPECT_EQ(flaw_of_cdf_name(std::string(257, 'n')), "it has 257 bytes, and at most 256 are allowed");
  EXPECT_EQ(flaw_of_cdf_name("a/b"), "it has a slash");
  EXPECT_EQ(flaw_of_cdf_name("-x"), "it begins neither with a letter nor with a digit or _");
  EXPECT_EQ(flaw_of_cdf_name("a\tb"), "it has a control character");
  EXPECT_EQ(flaw_of_cdf_name("x "), "it ends with a blank");
}

}  // namespace
}  // namespace glean::store
