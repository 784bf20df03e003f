// SPDX-License-Identifier: BSD-3-Clause
//
// The problem and its exact solution: a mode of a rectangular waveguide.
#pragma once

#include <array>

namespace nekcem {

// Six components, in NekCEM's order.
enum Component { hx, hy, hz, ex, ey, ez };
inline constexpr int components = 6;
using Field6 = std::array<double, components>;

enum class Polarisation { te, tm };

// The mode TE_mn or TM_mn that travels along z, with `waves` wavelengths in the length of the guide. The walls at x = 0, width and
// y = 0, height conduct perfectly; the guide is periodic along z. Permittivity and permeability are 1, and so is the speed of light.
class WaveguideMode {
 public:
  struct Shape {
    std::array<double, 3> lengths = {1.0, 0.5, 2.0};   // width, height, length
    Polarisation polarisation = Polarisation::te;
    int m = 1, n = 1, waves = 1;
  };

  // Throws std::invalid_argument for a mode that a waveguide does not have.
  explicit WaveguideMode(const Shape& shape);

  [[nodiscard]] Field6 at(double x, double y, double z, double time) const;
  [[nodiscard]] double amplitude() const;   // no component is ever larger
  [[nodiscard]] double frequency() const { return frequency_; }                          // angular
  [[nodiscard]] const std::array<double, 3>& wave_numbers() const { return numbers_; }   // along x, y, z
  [[nodiscard]] const std::array<double, 3>& lengths() const { return shape_.lengths; }

 private:
  Shape shape_;
  std::array<double, 3> numbers_{};
  double frequency_ = 0, cutoff_squared_ = 0;
};

}  // namespace nekcem
