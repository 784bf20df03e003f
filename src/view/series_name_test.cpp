// SPDX-License-Identifier: BSD-3-Clause
#include "view/series_name.hpp"

#include <gtest/gtest.h>

namespace glean::view {
namespace {

TEST(SeriesName, HasAMarkInPlaceOfTheLastNumber) {
  EXPECT_EQ(series_name("plt_0012.nc"), "plt_#.nc");
  EXPECT_EQ(series_name("run2_hdf5_chk_0001"), "run2_hdf5_chk_#");
  EXPECT_EQ(series_name("field.h5"), "field.h5");
  EXPECT_EQ(series_name("run.0012"), "run.#");
  EXPECT_EQ(series_name("7"), "#");
}

}  // namespace
}  // namespace glean::view
