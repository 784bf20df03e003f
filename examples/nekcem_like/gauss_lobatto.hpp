// SPDX-License-Identifier: BSD-3-Clause
//
// The points of a spectral element along one axis.
#pragma once

#include <vector>

namespace nekcem {

// Gauss-Lobatto-Legendre quadrature with N + 1 points on [-1, 1], ascending, the ends included, and the derivative at each point
// of the polynomial of degree N through values at all points.
struct GaussLobatto {
  int order = 0;   // N
  std::vector<double> points, weights;
  std::vector<double> derivative;   // (N + 1) x (N + 1): derivative[i * (N + 1) + j] is what value j adds to the derivative at point i
};

// `order` is at least 1.
[[nodiscard]] GaussLobatto gauss_lobatto(int order);

}  // namespace nekcem
