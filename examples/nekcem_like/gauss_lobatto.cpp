// SPDX-License-Identifier: BSD-3-Clause
#include "gauss_lobatto.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace nekcem {

namespace {

struct Legendre {
  double value, previous;   // of degrees N and N - 1
};

Legendre legendre(int order, double x) {
  Legendre p{x, 1};
  for (int k = 2; k <= order; ++k) p = {((2 * k - 1) * x * p.value - (k - 1) * p.previous) / k, p.value};
  return p;
}

}  // namespace

GaussLobatto gauss_lobatto(int order) {
  const auto count = static_cast<std::size_t>(order) + 1;
  GaussLobatto rule{order, std::vector<double>(count), std::vector<double>(count), std::vector<double>(count * count)};
  std::vector<double> at(count);   // the Legendre polynomial of degree N at the points
  for (std::size_t i = 0; i < count; ++i) {
    // The points are the zeros of (1 - x²) P'. Newton's method finds them from those of Chebyshev.
    double x = -std::cos(std::numbers::pi * static_cast<double>(i) / order);
    for (int iteration = 0; iteration < 50; ++iteration) {
      const Legendre p = legendre(order, x);
      const double step = (x * p.value - p.previous) / ((order + 1) * p.value);
      x -= step;
      if (std::abs(step) < 1e-16) break;
    }
    rule.points[i] = x;
    at[i] = legendre(order, x).value;
    rule.weights[i] = 2.0 / (order * (order + 1) * at[i] * at[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i != j) rule.derivative[i * count + j] = at[i] / (at[j] * (rule.points[i] - rule.points[j]));
    }
  }
  rule.derivative.front() = -order * (order + 1) / 4.0;
  rule.derivative.back() = order * (order + 1) / 4.0;
  return rule;
}

}  // namespace nekcem
