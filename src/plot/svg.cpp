// SPDX-License-Identifier: BSD-3-Clause
#include "plot/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "plot/axes.hpp"

namespace glean::plot {
namespace {

constexpr double plot_height = 250;

struct Frame {
  Axis x, y;
  double height = 0;   // of the paper
};

std::string axes_of(const Frame& frame, const std::string& x_label, const std::string& y_label) {
  std::string text;
  const Axis &x = frame.x, &y = frame.y;
  for (const double each : y.marks()) {
    text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", x.begin, x.end,
                        y.at(each));
    text += svg_text(x.begin - 7, y.at(each) + 4, tick_text(each), "text-anchor=\"end\"");
  }
  text += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" fill=\"none\" stroke=\"#444\"/>\n", x.begin, y.end, y.begin, x.end);
  text += svg_text((x.begin + x.end) / 2, y.begin + 38, x_label, "text-anchor=\"middle\"");
  text += fmt::format("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", (y.begin + y.end) / 2,
                      escaped(y_label));
  return text;
}

std::string x_marks(const Axis& x, double below, const std::vector<double>& marks) {
  std::string text;
  double last = -1e9;
  for (const double each : marks) {
    if (x.at(each) - last < 44) continue;
    last = x.at(each);
    text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#444\"/>\n", x.at(each), below,
                        below + 5);
    text += svg_text(x.at(each), below + 18, tick_text(each), "text-anchor=\"middle\"");
  }
  return text;
}

}  // namespace

std::string to_svg(const LinePlot& plot) {
  std::vector<std::string> names;
  double x_least = 1e300, x_most = -1e300, y_least = 1e300, y_most = -1e300;
  std::set<double> places;
  const auto is_shown = [&](const std::pair<double, double>& point) {
    return std::isfinite(point.first) && std::isfinite(point.second) && (plot.x_scale == Scale::linear || point.first > 0) &&
           (plot.y_scale == Scale::linear || point.second > 0);
  };
  for (const Line& line : plot.lines) {
    names.push_back(line.name);
    for (const auto& point : line.points) {
      if (!is_shown(point)) continue;
      places.insert(point.first);
      x_least = std::min(x_least, point.first), x_most = std::max(x_most, point.first);
      y_least = std::min(y_least, point.second), y_most = std::max(y_most, point.second);
    }
  }
  const Legend legend = legend_of(names);
  const double top = top_margin + legend.height, bottom = top + plot_height;
  Frame frame{axis_for(plot.x_scale, x_least, x_most, left_margin, paper_width - right_margin - 10),
              axis_for(plot.y_scale, y_least, y_most, bottom, top), bottom + bottom_margin};
  if (plot.x_scale == Scale::linear && x_most > x_least) frame.x.least = x_least, frame.x.most = x_most;
  // A part of a decade is little to read from.
  if (plot.y_scale == Scale::logarithmic && !places.empty()) {
    frame.y.least = std::pow(10, std::floor(std::log10(y_least))), frame.y.most = std::pow(10, std::ceil(std::log10(y_most)));
    if (frame.y.most <= frame.y.least) frame.y.most = frame.y.least * 10;
  }
  std::string svg = svg_begin(frame.height, plot.title) + legend.svg + axes_of(frame, plot.x_label, plot.y_label);
  svg += x_marks(frame.x, bottom, places.size() <= 12 ? std::vector<double>(places.begin(), places.end()) : frame.x.marks());
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    std::string path, dots;
    for (const auto& point : plot.lines[i].points) {
      if (!is_shown(point)) continue;
      const double x = frame.x.at(point.first), y = frame.y.at(point.second);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:.4g}</title></circle>\n", x, y, colour(i),
                          escaped(plot.lines[i].name), point.second);
    }
    const char* dashes = i >= 10 ? " stroke-dasharray=\"5 3\"" : "";
    if (path.empty()) continue;
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n{}", path, colour(i), dashes, dots);
  }
  return svg + "</svg>\n";
}

std::string to_svg(const BarPlot& plot) {
  std::vector<std::string> names;
  double most = 0;
  for (const BarPlot::Kind& kind : plot.kinds) {
    names.push_back(kind.name);
    for (const double each : kind.values) most = std::max(most, std::isfinite(each) ? each : 0);
  }
  const std::size_t shown = std::min(plot.places.size(), BarPlot::most_places);
  const Legend legend = legend_of(names);
  const double top = top_margin + legend.height, bottom = top + plot_height;
  const Frame frame{{.begin = left_margin, .end = paper_width - right_margin}, axis_for(Scale::linear, 0, most, bottom, top),
                    bottom + bottom_margin};
  const std::string rest = shown < plot.places.size() ? fmt::format(" (the first {} of {})", shown, plot.places.size()) : "";
  std::string svg = svg_begin(frame.height, plot.title + rest) + legend.svg + axes_of(frame, plot.x_label, plot.y_label);
  const double width = (frame.x.end - frame.x.begin) / static_cast<double>(std::max<std::size_t>(1, shown));
  const double of_bar = std::min(34.0, width * 0.8 / static_cast<double>(std::max<std::size_t>(1, plot.kinds.size())));
  double last = -1e9;
  for (std::size_t i = 0; i < shown; ++i) {
    const double middle = frame.x.begin + width * (static_cast<double>(i) + 0.5);
    for (std::size_t k = 0; k < plot.kinds.size(); ++k) {
      const double value = i < plot.kinds[k].values.size() && std::isfinite(plot.kinds[k].values[i]) ? plot.kinds[k].values[i] : 0;
      const double x = middle + of_bar * (static_cast<double>(k) - static_cast<double>(plot.kinds.size()) / 2);
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">"
                         "<title>{} {}: {:.4g}</title></rect>\n",
                         x, frame.y.at(value), std::max(0.6, of_bar - 0.6), frame.y.begin - frame.y.at(value), colour(k),
                         escaped(plot.places[i]), escaped(plot.kinds[k].name), value);
    }
    if (middle - last < std::max(26.0, 7.0 * static_cast<double>(plot.places[i].size()) + 8)) continue;
    last = middle;
    svg += svg_text(middle, bottom + 18, plot.places[i], "text-anchor=\"middle\"");
  }
  return svg + "</svg>\n";
}

std::string to_svg(const TimelinePlot& plot) {
  constexpr double row_height = 26;
  double most = 0;
  for (const TimelinePlot::Row& row : plot.rows) {
    for (const TimelinePlot::Span& span : row.spans) most = std::max(most, span.end);
  }
  const double bottom = top_margin + row_height * static_cast<double>(std::max<std::size_t>(1, plot.rows.size()));
  Axis x = axis_for(Scale::linear, 0, most, left_margin + 58, paper_width - right_margin);
  x.most = most > 0 ? most : 1;
  std::string svg = svg_begin(bottom + bottom_margin, plot.title);
  for (const double each : x.marks()) {
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", x.at(each), top_margin,
                       bottom);
  }
  svg += x_marks(x, bottom, x.marks());
  for (std::size_t i = 0; i < plot.rows.size(); ++i) {
    const double y = top_margin + row_height * static_cast<double>(i);
    svg += svg_text(x.begin - 7, y + 17, plot.rows[i].name, "text-anchor=\"end\"");
    for (const TimelinePlot::Span& span : plot.rows[i].spans) {
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"><title>{}</title></rect>\n",
                         x.at(span.begin), y + 4, std::max(0.8, x.at(span.end) - x.at(span.begin)), row_height - 8, colour(span.colour),
                         escaped(span.note));
    }
  }
  svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" fill=\"none\" stroke=\"#444\"/>\n", x.begin, top_margin, bottom, x.end);
  svg += svg_text((x.begin + x.end) / 2, bottom + 38, plot.x_label, "text-anchor=\"middle\"");
  return svg + "</svg>\n";
}

}  // namespace glean::plot
