// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <gtest/gtest.h>

namespace phasta {
namespace {

OutputRecord good() {
  OutputRecord record;
  record.error = 0.01;
  record.coarser_error = 0.035;
  return record;
}

TEST(Passes, WantsAMeshThatConforms) {
  OutputRecord open = good(), hollow = good();
  open.mesh.wrong_faces = 1;
  hollow.mesh.volume_error = 1e-6;

  EXPECT_TRUE(passes(good()));
  EXPECT_FALSE(passes(open));
  EXPECT_FALSE(passes(hollow));
}

TEST(Passes, WantsAnErrorThatFallsWithTheWidthOfCells) {
  OutputRecord first_order = good();
  first_order.coarser_error = 0.02;

  EXPECT_FALSE(passes(first_order));
}

TEST(Passes, DoesNotJudgeAMeshThatIsTooCoarse) {
  OutputRecord coarse = good();
  coarse.coarser_error = 0;

  EXPECT_TRUE(passes(coarse));
}

}  // namespace
}  // namespace phasta
