// SPDX-License-Identifier: BSD-3-Clause
//
// The state of an ideal gas in a cell, as the mesh holds it and as its integrals are kept.
#pragma once

#include <array>

namespace sedov {

inline constexpr double gas_gamma = 1.4;
// erg/(mol K), as FLASH: `temp` is in K for a gas of 1 g/mol.
inline constexpr double gas_constant = 8.31446261815324e7;

using Primitive = std::array<double, 5>;   // in the order of `state_variables`: density, pressure, velocity in x, y, z
using Conserved = std::array<double, 5>;   // of a unit of volume: mass, energy, momentum in x, y, z

[[nodiscard]] inline Conserved conserved_of(const Primitive& gas) {
  const double squared_speed = gas[2] * gas[2] + gas[3] * gas[3] + gas[4] * gas[4];
  return {gas[0], gas[1] / (gas_gamma - 1) + 0.5 * gas[0] * squared_speed, gas[0] * gas[2], gas[0] * gas[3], gas[0] * gas[4]};
}

[[nodiscard]] inline Primitive primitive_of(const Conserved& sums) {
  const double squared_momentum = sums[2] * sums[2] + sums[3] * sums[3] + sums[4] * sums[4];
  return {sums[0], (gas_gamma - 1) * (sums[1] - 0.5 * squared_momentum / sums[0]), sums[2] / sums[0], sums[3] / sums[0],
          sums[4] / sums[0]};
}

// The smaller of two slopes, none where they have different signs: what lies between two values stays between them.
[[nodiscard]] inline double minmod(double a, double b) {
  if (a * b <= 0) return 0;
  return (a < 0 ? -a : a) < (b < 0 ? -b : b) ? a : b;
}

}  // namespace sedov
