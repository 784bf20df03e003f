// SPDX-License-Identifier: BSD-3-Clause
#include "accuracy.hpp"

#include <cmath>

namespace nekcem {

// The leading term of the Chebyshev series of cos(k x) that degree N leaves out: 2 J_{N+1}(k h / 2), h the width of an element.
double approximation_error(const Mesh::Box& box, const WaveguideMode& mode) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double argument = mode.wave_numbers()[axis] * box.lengths[axis] / box.elements[axis] / 2;
    if (argument > 0) sum += 2 * std::abs(std::cyl_bessel_j(box.order + 1, argument));
  }
  return sum;
}

double allowed_error(const Mesh::Box& box, const WaveguideMode& mode, int steps, double dt) {
  constexpr double of_approximation = 20, of_steps = 0.01, of_rounding = 1e-14;
  const double phase = mode.frequency() * dt;
  const double of_everything = of_approximation * approximation_error(box, mode) + of_steps * std::pow(phase, 4) * phase * steps +
                               of_rounding * (100 + steps);
  return mode.amplitude() * of_everything;
}

}  // namespace nekcem
