// SPDX-License-Identifier: BSD-3-Clause
//
// What is simulated: a vortex that a flow carries along, an exact solution of the Euler equations.
#pragma once

#include <array>

namespace phasta {

// In the order of PHASTA's solution array.
struct State {
  double pressure = 0;
  std::array<double, 3> velocity{};
  double temperature = 0;
};

inline constexpr double gas_gamma = 1.4;   // an ideal gas; its gas constant is 1

// An isentropic vortex around a straight axis: temperature and pressure have a Gaussian dip, the gas turns around it, and far away is
// everything 1 with the velocity of the flow.
class Vortex {
 public:
  struct Settings {
    std::array<double, 3> start = {0.3, 0.35, 0.5};   // a point of the axis at time 0
    std::array<double, 3> axis = {0.3, -0.2, 1.0};
    std::array<double, 3> flow = {0.6, 0.4, 0.1};
    double core = 0.05;       // the radius at which the gas turns fastest
    double strength = 2.5;    // 5 would be the usual test case
  };
  explicit Vortex(const Settings& settings);

  [[nodiscard]] State at(double x, double y, double z, double time) const;
  // From the axis.
  [[nodiscard]] double distance(double x, double y, double z, double time) const;
  [[nodiscard]] double core() const { return settings_.core; }

 private:
  [[nodiscard]] std::array<double, 3> from_axis(double x, double y, double z, double time) const;

  Settings settings_;
  std::array<double, 3> axis_;   // of length 1
};

}  // namespace phasta
