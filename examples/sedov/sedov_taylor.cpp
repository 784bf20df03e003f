// SPDX-License-Identifier: BSD-3-Clause
#include "sedov_taylor.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sedov {

namespace {

using Gas = SedovTaylor::Gas;

// With radius ~ time^(2/5) the Euler equations leave ordinary equations in x = r / radius for density g,
// velocity f and pressure h:
//   mass      (f - x) g' + g (f' + 2 f / x) = 0
//   momentum  (f - x) f' - 3/2 f + h' / g   = 0
//   entropy   (f - x) (h' / h - gamma g' / g) = 3
// solved here for the derivatives, which are taken by log x: the centre is then reached in equal steps.
Gas derivative(double gamma, double x, const Gas& gas) {
  const double g = gas.density, f = gas.velocity, h = gas.pressure;
  const double w = f - x;
  const double df = (3 - 2 * gamma * f / x - 1.5 * w * f * g / h) / (gamma - w * w * g / h);
  const double dg = -g * (df + 2 * f / x) / w;
  const double dh = g * (1.5 * f - w * df);
  return {x * dg, x * df, x * dh};
}

Gas moved(const Gas& gas, const Gas& slope, double by) {
  return {gas.density + by * slope.density, gas.velocity + by * slope.velocity,
          gas.pressure + by * slope.pressure};
}

Gas runge_kutta_step(double gamma, double x, const Gas& gas, double log_step) {
  const double middle = x * std::exp(0.5 * log_step), end = x * std::exp(log_step);
  const Gas a = derivative(gamma, x, gas);
  const Gas b = derivative(gamma, middle, moved(gas, a, 0.5 * log_step));
  const Gas c = derivative(gamma, middle, moved(gas, b, 0.5 * log_step));
  const Gas d = derivative(gamma, end, moved(gas, c, log_step));
  const Gas mean = {(a.density + 2 * b.density + 2 * c.density + d.density) / 6,
                    (a.velocity + 2 * b.velocity + 2 * c.velocity + d.velocity) / 6,
                    (a.pressure + 2 * b.pressure + 2 * c.pressure + d.pressure) / 6};
  return moved(gas, mean, log_step);
}

}  // namespace

SedovTaylor::SedovTaylor(double gamma) {
  constexpr int steps = 8000;   // even, for Simpson's rule
  // The centre is not reached: rounding errors grow as x^-3 on the way there, and inside this x
  // less than 1e-5 of the energy is left, where the pressure is flat and the velocity linear.
  constexpr double innermost = 0.02;
  const double log_step = std::log(innermost) / steps;

  Gas gas = {(gamma + 1) / (gamma - 1), 2 / (gamma + 1), 2 / (gamma + 1)};   // behind a strong shock
  double x = 1;
  points_.push_back({x, gas});
  for (int step = 1; step <= steps; ++step) {
    gas = runge_kutta_step(gamma, x, gas, log_step);
    x = std::exp(log_step * step);
    points_.push_back({x, gas});
  }

  double energy_integral = gas.pressure / (gamma - 1) * x * x * x / 3;   // inside the innermost point
  for (std::size_t i = 0; i < points_.size(); ++i) {   // Simpson's rule over log x
    const Point& p = points_[i];
    const double weight = (i == 0 || i == steps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * -log_step / 3;
    const double volume = weight * p.fraction * p.fraction * p.fraction;
    energy_integral +=
        volume * (0.5 * p.gas.density * p.gas.velocity * p.gas.velocity + p.gas.pressure / (gamma - 1));
    swept_mass_ += volume * p.gas.density;
  }

  // energy = 4 pi density speed^2 radius^3 * integral, and speed = 2/5 radius / time.
  alpha_ = 4 * std::numbers::pi * (4.0 / 25.0) * energy_integral;
}

double SedovTaylor::shock_radius(double energy, double density, double time) const {
  return std::pow(energy * time * time / (alpha_ * density), 0.2);
}

double SedovTaylor::shock_speed(double energy, double density, double time) const {
  return 0.4 * shock_radius(energy, density, time) / time;
}

SedovTaylor::Gas SedovTaylor::at(double fraction) const {
  const auto inner = std::lower_bound(points_.begin(), points_.end(), fraction,
                                      [](const Point& p, double value) { return p.fraction > value; });
  if (inner == points_.begin()) return points_.front().gas;
  if (inner == points_.end()) {
    const Point& last = points_.back();
    return {last.gas.density, last.gas.velocity * fraction / last.fraction, last.gas.pressure};
  }
  const Point& outer = *(inner - 1);
  const double share = (fraction - inner->fraction) / (outer.fraction - inner->fraction);
  const auto mix = [share](double below, double above) { return below + share * (above - below); };
  return {mix(inner->gas.density, outer.gas.density), mix(inner->gas.velocity, outer.gas.velocity),
          mix(inner->gas.pressure, outer.gas.pressure)};
}

}  // namespace sedov
