// SPDX-License-Identifier: BSD-3-Clause
//
// The exact solution of a point explosion in a cold uniform gas (Sedov 1946, Taylor 1950), by integrating the
// self-similar equations from the shock to the centre.
#pragma once

#include <vector>

namespace sedov {

class SedovTaylor {
 public:
  // Integrates once. Local; well below a millisecond.
  explicit SedovTaylor(double gamma);

  // The constant in energy = alpha * density * radius^5 / time^2; 0.851 for gamma 1.4.
  [[nodiscard]] double alpha() const { return alpha_; }
  [[nodiscard]] double shock_radius(double energy, double density, double time) const;
  [[nodiscard]] double shock_speed(double energy, double density, double time) const;

  // The gas at `fraction` of the shock radius, up to 1. In units of the density ahead of the shock, the speed
  // of the shock, and the first times the square of the second.
  struct Gas {
    double density, velocity, pressure;
  };
  [[nodiscard]] Gas at(double fraction) const;

  // Mass inside the shock, in units of ambient density * 4 pi radius^3: a third, for the gas that was there
  // before.
  [[nodiscard]] double swept_mass() const { return swept_mass_; }

 private:
  struct Point {
    double fraction;
    Gas gas;
  };
  std::vector<Point> points_;   // from the shock inwards
  double alpha_ = 0;
  double swept_mass_ = 0;
};

}  // namespace sedov
