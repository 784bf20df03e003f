// SPDX-License-Identifier: BSD-3-Clause
#include "waveguide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace nekcem {
namespace {

const WaveguideMode::Shape shapes[] = {{.polarisation = Polarisation::te, .m = 1, .n = 0},
                                       {.polarisation = Polarisation::te, .m = 2, .n = 1, .waves = 3},
                                       {.polarisation = Polarisation::tm, .m = 1, .n = 1},
                                       {.polarisation = Polarisation::tm, .m = 2, .n = 3, .waves = 2}};

// The curl of E (first = ex) or H (first = hx) by central differences.
std::array<double, 3> curl(const WaveguideMode& mode, int first, double x, double y, double z, double t) {
  constexpr double d = 1e-5;
  const auto slope = [&](int component, int axis) {
    const double dx = axis == 0 ? d : 0, dy = axis == 1 ? d : 0, dz = axis == 2 ? d : 0;
    const auto c = static_cast<std::size_t>(first + component);
    return (mode.at(x + dx, y + dy, z + dz, t)[c] - mode.at(x - dx, y - dy, z - dz, t)[c]) / (2 * d);
  };
  return {slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1)};
}

TEST(WaveguideMode, SolvesMaxwellsEquations) {
  for (const auto& shape : shapes) {
    const WaveguideMode mode(shape);
    const double x = 0.31, y = 0.17, z = 0.83, t = 0.29, d = 1e-5;
    const Field6 later = mode.at(x, y, z, t + d), earlier = mode.at(x, y, z, t - d);

    const auto curl_e = curl(mode, ex, x, y, z, t), curl_h = curl(mode, hx, x, y, z, t);

    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR((later[hx + i] - earlier[hx + i]) / (2 * d), -curl_e[i], 1e-7);
      EXPECT_NEAR((later[ex + i] - earlier[ex + i]) / (2 * d), curl_h[i], 1e-7);
    }
  }
}

TEST(WaveguideMode, HasNoElectricFieldAlongTheWallsAndNoMagneticFieldThroughThem) {
  for (const auto& shape : shapes) {
    const WaveguideMode mode(shape);
    for (const double x : {0.0, 1.0}) {
      const Field6 wall = mode.at(x, 0.2, 0.7, 0.1);
      for (const int c : {ey, ez, hx}) EXPECT_NEAR(wall[static_cast<std::size_t>(c)], 0, 1e-14);
    }
    for (const double y : {0.0, 0.5}) {
      const Field6 wall = mode.at(0.3, y, 0.7, 0.1);
      for (const int c : {ex, ez, hy}) EXPECT_NEAR(wall[static_cast<std::size_t>(c)], 0, 1e-14);
    }
  }
}

TEST(WaveguideMode, IsPeriodicAlongTheGuideAndInTime) {
  for (const auto& shape : shapes) {
    const WaveguideMode mode(shape);
    const double period = 2 * 3.14159265358979323846 / mode.frequency();

    const Field6 here = mode.at(0.3, 0.2, 0.7, 0.1), there = mode.at(0.3, 0.2, 2.7, 0.1), then = mode.at(0.3, 0.2, 0.7, 0.1 + period);

    for (std::size_t c = 0; c < components; ++c) {
      EXPECT_NEAR(here[c], there[c], 1e-13);
      EXPECT_NEAR(here[c], then[c], 1e-13);
    }
  }
}

TEST(WaveguideMode, IsNeverLargerThanItsAmplitude) {
  for (const auto& shape : shapes) {
    const WaveguideMode mode(shape);
    double largest = 0;
    for (int i = 0; i < 4000; ++i) {
      const Field6 here = mode.at(i % 17 / 16.0, i % 13 / 24.0, i % 11 / 5.5, i * 0.01);
      for (const double value : here) largest = std::max(largest, std::abs(value));
    }

    EXPECT_LE(largest, mode.amplitude() * (1 + 1e-14));
    EXPECT_GT(largest, 0.5 * mode.amplitude());
  }
}

TEST(WaveguideMode, RefusesModesThatDoNotExist) {
  EXPECT_THROW(WaveguideMode({.polarisation = Polarisation::te, .m = 0, .n = 0}), std::invalid_argument);
  EXPECT_THROW(WaveguideMode({.polarisation = Polarisation::tm, .m = 1, .n = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace nekcem
