// SPDX-License-Identifier: BSD-3-Clause
#include "cli/simulation_plots.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/text_file.hpp"
#include "plot/svg.hpp"

extern "C" char** environ;

namespace glean::cli {
namespace {

double value_of(const std::string& value) {
  if (const auto bytes = base::parse_bytes(value)) return static_cast<double>(*bytes);
  return std::stod(value);   // a number: the sweep has read it
}

std::string title_of_plot(const SimulatedPoint& point) {
  const simulate::Scenario& scenario = point.scenario;
  return fmt::format("{}: {} a step", scenario.machine.name, base::readable_bytes(scenario.step_bytes()));
}

std::string bars_of(const SimulatedPoint& point) {
  plot::BarPlot bars{.title = fmt::format("{}, {} ranks", title_of_plot(point), point.scenario.ranks()), .x_label = "strategy",
                     .y_label = "seconds of a step", .kinds = {{"blocked"}, {"durable"}}};
  for (const simulate::Outcome& each : point.outcomes) {
    bars.places.push_back(each.strategy);
    bars.kinds[0].values.push_back(each.blocked_seconds);
    bars.kinds[1].values.push_back(each.durable_seconds);
  }
  return plot::to_svg(bars);
}

void make_png(const std::string& path, const std::string& svg_path) {
  std::array<std::string, 5> words = {"rsvg-convert", "--zoom=2", "--output", path, svg_path};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t child = -1;
  const int failed = posix_spawnp(&child, "rsvg-convert", nullptr, nullptr, arguments.data(), environ);
  if (failed != 0) {
    throw base::Error(base::Errc::invalid_argument, "a PNG is made by rsvg-convert, which is not there",
                      "install it (Debian: librsvg2-bin), or name a file that ends in .svg");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (status != 0) throw base::Error(base::Errc::io, "rsvg-convert could not write '" + path + "'", "what it said is above");
}

}  // namespace

std::string plot_of(const std::vector<SimulatedPoint>& points) {
  if (points.front().varied.empty()) return bars_of(points.front());
  const SimulatedPoint& first = points.front();
  plot::LinePlot lines{.title = fmt::format("{}, and more", title_of_plot(first)), .x_label = first.varied,
                       .y_label = "seconds of a step", .x_scale = plot::Scale::logarithmic, .y_scale = plot::Scale::logarithmic};
  const auto line = [&](const std::string& name) -> plot::Line& {
    const auto known = std::find_if(lines.lines.begin(), lines.lines.end(), [&](const plot::Line& each) { return each.name == name; });
    return known != lines.lines.end() ? *known : lines.lines.emplace_back(plot::Line{.name = name});
  };
  for (const SimulatedPoint& point : points) {
    for (const simulate::Outcome& each : point.outcomes) {
      line(each.strategy + ", blocked").points.emplace_back(value_of(point.value), each.blocked_seconds);
      if (each.durable_seconds > each.blocked_seconds * 1.001) {
        line(each.strategy + ", durable").points.emplace_back(value_of(point.value), each.durable_seconds);
      }
    }
  }
  for (plot::Line& each : lines.lines) std::sort(each.points.begin(), each.points.end());
  return plot::to_svg(lines);
}

std::string timeline_of(const std::vector<SimulatedPoint>& points) {
  const SimulatedPoint& point = points.front();
  plot::TimelinePlot timeline{.title = fmt::format("{}, {} ranks", title_of_plot(point), point.scenario.ranks()),
                              .x_label = "seconds since the program began"};
  std::map<std::string, std::size_t> colours;
  for (const simulate::Outcome& outcome : point.outcomes) {
    std::vector<std::string> names;   // in the order in which they come
    for (const simulate::Phase& each : outcome.phases) {
      if (std::find(names.begin(), names.end(), each.what) == names.end()) names.push_back(each.what);
    }
    for (const std::string& name : names) {
      const std::size_t colour = colours.emplace(name, colours.size()).first->second;
      const std::string row = point.outcomes.size() > 1 ? outcome.strategy + ": " + name : name;
      timeline.rows.push_back({row, {}});
      for (const simulate::Phase& each : outcome.phases) {
        if (each.what != name) continue;
        timeline.rows.back().spans.push_back({each.begin, each.end, colour,
                                              fmt::format("step {}: {} to {} s", each.step, each.begin, each.end)});
      }
    }
  }
  return plot::to_svg(timeline);
}

void write_picture(const std::string& path, const std::string& svg) {
  if (path.ends_with(".svg")) return write_text_file(path, svg);
  if (!path.ends_with(".png")) {
    throw base::Error(base::Errc::invalid_argument, "'" + path + "' is no picture that can be written", "name a file .svg or .png");
  }
  const std::string between = fmt::format("{}.{}.svg", path, getpid());
  write_text_file(between, svg);
  try {
    make_png(path, between);
  } catch (...) {
    std::remove(between.c_str());
    throw;
  }
  std::remove(between.c_str());
}

}  // namespace glean::cli
