// SPDX-License-Identifier: BSD-3-Clause
//
// Where a value is on the paper.
#pragma once

#include <string>
#include <vector>

#include "plot/svg.hpp"

namespace glean::plot {

// Points of the paper; all plots are as wide, so that they stand below each other well.
inline constexpr double paper_width = 860, left_margin = 92, right_margin = 22, top_margin = 40, bottom_margin = 52;

struct Axis {
  Scale scale = Scale::linear;
  double least = 0, most = 1;        // of what is shown
  double begin = 0, end = 1;         // on the paper
  [[nodiscard]] double at(double value) const;
  [[nodiscard]] std::vector<double> marks() const;
};

// From 0, or from the decade below, to a little above `most`.
[[nodiscard]] Axis axis_for(Scale scale, double least, double most, double begin, double end);

// "0.001", "25", "1.5k", "4M"
[[nodiscard]] std::string tick_text(double value);

[[nodiscard]] const char* colour(std::size_t index);

// The parts that all plots have.
[[nodiscard]] std::string svg_begin(double height, const std::string& title);
[[nodiscard]] std::string svg_text(double x, double y, const std::string& text, const std::string& more);
struct Legend {
  std::string svg;
  double height = 0;   // 0 without names
};
// Below the title.
[[nodiscard]] Legend legend_of(const std::vector<std::string>& names);

}  // namespace glean::plot
