// SPDX-License-Identifier: BSD-3-Clause
#include "waveguide.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace nekcem {

WaveguideMode::WaveguideMode(const Shape& shape) : shape_(shape) {
  const bool te = shape.polarisation == Polarisation::te;
  if (te ? shape.m + shape.n < 1 : shape.m < 1 || shape.n < 1) {
    throw std::invalid_argument(te ? "a TE mode needs m + n >= 1" : "a TM mode needs m >= 1 and n >= 1");
  }
  const double pi = std::numbers::pi;
  numbers_ = {pi * shape.m / shape.lengths[0], pi * shape.n / shape.lengths[1], 2 * pi * shape.waves / shape.lengths[2]};
  cutoff_squared_ = numbers_[0] * numbers_[0] + numbers_[1] * numbers_[1];
  frequency_ = std::sqrt(cutoff_squared_ + numbers_[2] * numbers_[2]);
}

// The component along z of H (TE) or E (TM) determines the others: they are the real parts of i kz/kc² grad and of i w/kc² z × grad of
// it, times exp(i (kz z - w t)).
Field6 WaveguideMode::at(double x, double y, double z, double time) const {
  const double phase = numbers_[2] * z - frequency_ * time;
  const double sin_x = std::sin(numbers_[0] * x), cos_x = std::cos(numbers_[0] * x);
  const double sin_y = std::sin(numbers_[1] * y), cos_y = std::cos(numbers_[1] * y);
  const double along = -numbers_[2] / cutoff_squared_ * std::sin(phase);
  const double across = -frequency_ / cutoff_squared_ * std::sin(phase);
  if (shape_.polarisation == Polarisation::te) {
    const double grad_x = -numbers_[0] * sin_x * cos_y, grad_y = -numbers_[1] * cos_x * sin_y;
    return {along * grad_x, along * grad_y, cos_x * cos_y * std::cos(phase), across * grad_y, -across * grad_x, 0};
  }
  const double grad_x = numbers_[0] * cos_x * sin_y, grad_y = numbers_[1] * sin_x * cos_y;
  return {-across * grad_y, across * grad_x, 0, along * grad_x, along * grad_y, sin_x * sin_y * std::cos(phase)};
}

double WaveguideMode::amplitude() const { return std::max(1.0, frequency_ / std::sqrt(cutoff_squared_)); }

}  // namespace nekcem
