// SPDX-License-Identifier: BSD-3-Clause
#include "vortex.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace phasta {
namespace {

const Vortex vortex({});
constexpr double here[3] = {0.36, 0.41, 0.58};
constexpr double now = 0.07;

double density(const State& state) { return state.pressure / state.temperature; }

// A derivative along an axis (3: time) by central differences.
template <class Of>
double slope(Of of, int axis) {
  constexpr double d = 1e-6;
  const auto at = [&](double step) {
    double p[4] = {here[0], here[1], here[2], now};
    p[axis] += step;
    return of(vortex.at(p[0], p[1], p[2], p[3]));
  };
  return (at(d) - at(-d)) / (2 * d);
}

TEST(Vortex, SolvesTheEulerEquations) {
  const State state = vortex.at(here[0], here[1], here[2], now);
  double mass = slope(density, 3), energy = slope([](const State& s) { return s.pressure; }, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto axis = static_cast<int>(i);
    const auto velocity = [i](const State& s) { return s.velocity[i]; };
    double momentum = slope(velocity, 3) + slope([](const State& s) { return s.pressure; }, axis) / density(state);
    for (int j = 0; j < 3; ++j) momentum += state.velocity[static_cast<std::size_t>(j)] * slope(velocity, j);
    EXPECT_NEAR(momentum, 0, 1e-6) << "along axis " << i;
    mass += slope([i](const State& s) { return density(s) * s.velocity[i]; }, axis);
    energy += state.velocity[i] * slope([](const State& s) { return s.pressure; }, axis);
    energy += gas_gamma * state.pressure * slope(velocity, axis);
  }

  EXPECT_NEAR(mass, 0, 1e-6);
  EXPECT_NEAR(energy, 0, 1e-6);
  EXPECT_LT(state.pressure, 0.99);   // the point is in the vortex
}

TEST(Vortex, MovesWithTheFlow) {
  const Vortex::Settings settings;
  const State before = vortex.at(here[0], here[1], here[2], 0);

  const State after = vortex.at(here[0] + 0.5 * settings.flow[0], here[1] + 0.5 * settings.flow[1], here[2] + 0.5 * settings.flow[2], 0.5);

  EXPECT_NEAR(after.pressure, before.pressure, 1e-14);
  EXPECT_NEAR(after.velocity[0], before.velocity[0], 1e-14);
}

TEST(Vortex, IsFarAwayTheFlow) {
  const State far = vortex.at(0.9, 0.9, 0.5, 0);

  EXPECT_NEAR(far.pressure, 1, 1e-12);
  EXPECT_NEAR(far.temperature, 1, 1e-12);
  EXPECT_NEAR(far.velocity[0], 0.6, 1e-12);
}

TEST(Vortex, HasADistanceThatChangesNoFasterThanPlaces) {
  EXPECT_NEAR(vortex.distance(0.3, 0.35, 0.5, 0), 0, 1e-15);
  for (int i = 0; i < 100; ++i) {
    const double a[3] = {i % 7 / 7.0, i % 11 / 11.0, i % 5 / 5.0}, b[3] = {i % 3 / 3.0, i % 13 / 13.0, i % 17 / 17.0};
    const double apart = std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));

    EXPECT_LE(std::abs(vortex.distance(a[0], a[1], a[2], 0.2) - vortex.distance(b[0], b[1], b[2], 0.2)), apart + 1e-14);
  }
}

}  // namespace
}  // namespace phasta
