// SPDX-License-Identifier: BSD-3-Clause
#include "gauss_lobatto.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nekcem {
namespace {

TEST(GaussLobatto, HasThePublishedPointsAndWeightsOfDegreeFour) {
  const GaussLobatto rule = gauss_lobatto(4);

  const double inner = std::sqrt(3.0 / 7.0);
  const std::vector<double> points = {-1, -inner, 0, inner, 1};
  const std::vector<double> weights = {0.1, 49.0 / 90, 32.0 / 45, 49.0 / 90, 0.1};
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(rule.points[i], points[i], 1e-15);
    EXPECT_NEAR(rule.weights[i], weights[i], 1e-15);
  }
}

TEST(GaussLobatto, IntegratesPolynomialsUpToDegree2NMinus1AndNoMore) {
  for (int order = 1; order <= 16; ++order) {
    const GaussLobatto rule = gauss_lobatto(order);
    const auto error = [&](int degree) {
      double sum = 0;
      for (std::size_t i = 0; i < rule.points.size(); ++i) sum += rule.weights[i] * std::pow(rule.points[i], degree);
      return sum - (degree % 2 == 0 ? 2.0 / (degree + 1) : 0.0);
    };

    for (int degree = 0; degree < 2 * order; ++degree) EXPECT_NEAR(error(degree), 0, 1e-14) << "N = " << order << ", x^" << degree;
    EXPECT_GT(error(2 * order), 1e-10) << "N = " << order;
  }
}

TEST(GaussLobatto, DifferentiatesPolynomialsUpToDegreeN) {
  for (int order = 1; order <= 12; ++order) {
    const GaussLobatto rule = gauss_lobatto(order);
    const std::size_t count = rule.points.size();
    for (int degree = 0; degree <= order; ++degree) {
      for (std::size_t i = 0; i < count; ++i) {
        double slope = 0;
        for (std::size_t j = 0; j < count; ++j) slope += rule.derivative[i * count + j] * std::pow(rule.points[j], degree);
        const double exact = degree == 0 ? 0 : degree * std::pow(rule.points[i], degree - 1);
        EXPECT_NEAR(slope, exact, 1e-11) << "N = " << order << ", x^" << degree << " at " << rule.points[i];
      }
    }
  }
}

}  // namespace
}  // namespace nekcem
