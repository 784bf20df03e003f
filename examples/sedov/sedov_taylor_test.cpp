// SPDX-License-Identifier: BSD-3-Clause
#include "sedov_taylor.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sedov {
namespace {

// Kamm and Timmes, "On efficient generation of numerically robust Sedov solutions", LA-UR-07-2849: the
// standard spherical case has energy 0.851072 and its shock at radius 1 at time 1.
TEST(SedovTaylor, HasThePublishedConstantForGamma14) {
  EXPECT_NEAR(SedovTaylor(1.4).alpha(), 0.851072, 1e-6);
}

TEST(SedovTaylor, HoldsExactlyTheMassThatTheShockSweptUp) {
  for (const double gamma : {1.2, 1.4, 5.0 / 3.0}) {
    EXPECT_NEAR(SedovTaylor(gamma).swept_mass(), 1.0 / 3.0, 1e-9) << "gamma " << gamma;
  }
}

TEST(SedovTaylor, MeetsTheJumpOfAStrongShock) {
  const SedovTaylor::Gas gas = SedovTaylor(1.4).at(1.0);

  EXPECT_DOUBLE_EQ(gas.density, 6.0);
  EXPECT_DOUBLE_EQ(gas.velocity, 2.0 / 2.4);
  EXPECT_DOUBLE_EQ(gas.pressure, 2.0 / 2.4);
}

// From the closed form of the solution: the pressure at the centre is 0.3656 of that at the shock.
TEST(SedovTaylor, HasAnEmptyCentreOfConstantPressure) {
  const SedovTaylor exact(1.4);

  EXPECT_NEAR(exact.at(0.05).pressure / exact.at(1).pressure, 0.3656, 1e-3);
  EXPECT_NEAR(exact.at(0.001).pressure, exact.at(0.05).pressure, 1e-5);
  EXPECT_LT(exact.at(0.1).density, 1e-6);
  EXPECT_NEAR(exact.at(0.05).velocity / 0.05, 1 / 1.4, 1e-5);
}

TEST(SedovTaylor, GrowsWithTheTwoFifthsOfTimeAndTheFifthOfEnergy) {
  const SedovTaylor exact(1.4);
  const double radius = exact.shock_radius(1, 1, 1);

  EXPECT_NEAR(radius, 1.0328, 1e-4);
  EXPECT_NEAR(exact.shock_radius(1, 1, 32) / radius, 4, 1e-12);
  EXPECT_NEAR(exact.shock_radius(32, 1, 1) / radius, 2, 1e-12);
  EXPECT_NEAR(exact.shock_radius(1, 32, 1) / radius, 0.5, 1e-12);
  EXPECT_NEAR(exact.shock_speed(1, 1, 2),
              (exact.shock_radius(1, 1, 2 + 1e-5) - exact.shock_radius(1, 1, 2 - 1e-5)) / 2e-5, 1e-8);
}

}  // namespace
}  // namespace sedov
