// SPDX-License-Identifier: BSD-3-Clause
//
// Plots as SVG that is complete in itself: no script, no font and no style from elsewhere. What is the same gives the same text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glean::plot {

enum class Scale { linear, logarithmic };

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points{};   // x ascending; those that a logarithmic axis cannot have are left out
};

struct LinePlot {
  std::string title{}, x_label{}, y_label{};
  Scale x_scale = Scale::linear, y_scale = Scale::linear;
  std::vector<Line> lines{};
};

// Bars side by side at each place, one of each kind. After most_places the rest is left out, and the plot says so.
struct BarPlot {
  static constexpr std::size_t most_places = 200;
  struct Kind {
    std::string name;
    std::vector<double> values{};
  };
  std::string title{}, x_label{}, y_label{};
  std::vector<std::string> places{};
  std::vector<Kind> kinds{};
};

// What went on when, in rows.
struct TimelinePlot {
  struct Span {
    double begin = 0, end = 0;
    std::size_t colour = 0;     // alike spans have one
    std::string note{};         // shown where the pointer is
  };
  struct Row {
    std::string name;
    std::vector<Span> spans{};
  };
  std::string title{}, x_label{};
  std::vector<Row> rows{};
};

[[nodiscard]] std::string to_svg(const LinePlot& plot);
[[nodiscard]] std::string to_svg(const BarPlot& plot);
[[nodiscard]] std::string to_svg(const TimelinePlot& plot);

// For text in SVG and HTML: <, >, & and quotes; bytes that are no UTF-8, and controls, become '?'.
[[nodiscard]] std::string escaped(const std::string& text);

// Values of an axis that people read easily: 1, 2 or 5 times a power of ten, about `count` of them from `least` to `most`.
[[nodiscard]] std::vector<double> ticks(double least, double most, int count);
// Powers of ten, or of two where there are few of them.
[[nodiscard]] std::vector<double> logarithmic_ticks(double least, double most);

}  // namespace glean::plot
