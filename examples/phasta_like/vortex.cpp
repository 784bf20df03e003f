// SPDX-License-Identifier: BSD-3-Clause
#include "vortex.hpp"

#include <cmath>
#include <numbers>

namespace phasta {

namespace {

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

}  // namespace

Vortex::Vortex(const Settings& settings) : settings_(settings), axis_(settings.axis) {
  const double length = std::sqrt(dot(axis_, axis_));
  for (double& component : axis_) component /= length;
}

// The vector from the nearest point of the axis.
std::array<double, 3> Vortex::from_axis(double x, double y, double z, double time) const {
  std::array<double, 3> from = {x, y, z};
  for (std::size_t i = 0; i < 3; ++i) from[i] -= settings_.start[i] + settings_.flow[i] * time;
  const double along = dot(from, axis_);
  for (std::size_t i = 0; i < 3; ++i) from[i] -= along * axis_[i];
  return from;
}

double Vortex::distance(double x, double y, double z, double time) const {
  const std::array<double, 3> from = from_axis(x, y, z, time);
  return std::sqrt(dot(from, from));
}

State Vortex::at(double x, double y, double z, double time) const {
  const std::array<double, 3> from = from_axis(x, y, z, time);
  const double core = settings_.core, square = dot(from, from) / (core * core);
  const double turn = settings_.strength / (2 * std::numbers::pi) * std::exp((1 - square) / 2);
  State state;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    state.velocity[i] = settings_.flow[i] + turn * (axis_[j] * from[k] - axis_[k] * from[j]) / core;
  }
  state.temperature = 1 - (gas_gamma - 1) / (2 * gas_gamma) * turn * turn;
  state.pressure = std::pow(state.temperature, gas_gamma / (gas_gamma - 1));
  return state;
}

}  // namespace phasta
