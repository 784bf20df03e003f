// SPDX-License-Identifier: BSD-3-Clause
#include "riemann.hpp"

#include <gtest/gtest.h>

namespace sedov {
namespace {

constexpr double gamma_air = 1.4;

Flux exact_flux(const State& q) {
  const double energy = q.pressure / (gamma_air - 1) +
                        0.5 * q.density * (q.normal * q.normal + q.first * q.first + q.second * q.second);
  return {q.density * q.normal, q.density * q.normal * q.normal + q.pressure, q.density * q.normal * q.first,
          q.density * q.normal * q.second, q.normal * (energy + q.pressure)};
}

void expect_near(const Flux& flux, const Flux& expected, double tolerance) {
  EXPECT_NEAR(flux.mass, expected.mass, tolerance);
  EXPECT_NEAR(flux.normal, expected.normal, tolerance);
  EXPECT_NEAR(flux.first, expected.first, tolerance);
  EXPECT_NEAR(flux.second, expected.second, tolerance);
  EXPECT_NEAR(flux.energy, expected.energy, tolerance);
}

TEST(Hllc, OfTwoEqualStatesIsTheirFlux) {
  const State gas = {1.3, 0.4, -0.2, 0.7, 2.1};

  expect_near(hllc(gas, gas, gamma_air), exact_flux(gas), 1e-14);
}

TEST(Hllc, TakesTheUpwindStateWhenTheFlowIsSupersonic) {
  const State left = {1.0, 5.0, 0.1, 0.2, 1.0};
  const State right = {0.5, 6.0, -0.3, 0.4, 0.4};
  const State left_going = {1.0, -6.0, 0.1, 0.2, 1.0};
  const State right_going = {0.5, -5.0, -0.3, 0.4, 0.4};

  expect_near(hllc(left, right, gamma_air), exact_flux(left), 1e-13);
  expect_near(hllc(left_going, right_going, gamma_air), exact_flux(right_going), 1e-13);
}

TEST(Hllc, LeavesAStandingContactAndShearAlone) {
  const State left = {1.0, 0.0, 3.0, -1.0, 0.7};
  const State right = {0.1, 0.0, -2.0, 5.0, 0.7};

  expect_near(hllc(left, right, gamma_air), {0, 0.7, 0, 0, 0}, 1e-14);
}

TEST(Hllc, OfMirroredStatesIsTheMirroredFlux) {
  const State left = {1.0, 0.3, 0.5, -0.4, 1.0};
  const State right = {0.125, -0.2, 0.1, 0.6, 0.1};
  const State mirrored_left = {0.125, 0.2, 0.1, 0.6, 0.1};
  const State mirrored_right = {1.0, -0.3, 0.5, -0.4, 1.0};

  const Flux flux = hllc(left, right, gamma_air);
  const Flux mirrored = hllc(mirrored_left, mirrored_right, gamma_air);

  expect_near(mirrored, {-flux.mass, flux.normal, -flux.first, -flux.second, -flux.energy}, 1e-14);
}

}  // namespace
}  // namespace sedov
