// SPDX-License-Identifier: BSD-3-Clause
#include "plot/svg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace glean::plot {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Tags that are opened are closed, and in order.
bool is_balanced(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    if (end == std::string::npos) return false;
    if (svg[end - 1] == '/') continue;
    const std::string name = svg.substr(at + 1, svg.find_first_of(" >", at) - at - 1);
    if (name[0] != '/') open.push_back(name);
    else if (open.empty() || "/" + open.back() != name) return false;
    else open.pop_back();
  }
  return open.empty();
}

TEST(Ticks, AreOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(0, 0, 5), (std::vector<double>{0}));
  EXPECT_EQ(logarithmic_ticks(1, 1000), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(logarithmic_ticks(4, 32), (std::vector<double>{4, 8, 16, 32}));
}

TEST(Escaping, LeavesNothingThatIsMarkup) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("\xff\x01 \xc3\xa4"), "?? \xc3\xa4");
}

TEST(ALinePlot, HasALineAndAPlaceInTheLegendForEach) {
  const std::string svg = to_svg(LinePlot{.title = "a < b", .x_scale = Scale::logarithmic, .y_scale = Scale::logarithmic,
                                          .lines = {{"one", {{1, 2}, {10, 30}}}, {"two", {{1, 0}, {10, 3}}}}});

  EXPECT_TRUE(is_balanced(svg)) << svg;
  EXPECT_EQ(count(svg, "stroke-width=\"2\""), 2U);
  EXPECT_EQ(count(svg, "<circle"), 3U) << "a logarithmic axis has no 0";
  EXPECT_EQ(count(svg, ">one</text>"), 1U);
  EXPECT_EQ(count(svg, "a < b"), 0U);
}

TEST(ABarPlot, LeavesOutWhatNobodyCouldSeeAndSaysSo) {
  BarPlot plot{.title = "steps", .kinds = {{"blocked"}}};
  for (int i = 0; i < 500; ++i) plot.places.push_back(std::to_string(i)), plot.kinds[0].values.push_back(i);

  const std::string svg = to_svg(plot);

  EXPECT_TRUE(is_balanced(svg));
  EXPECT_NE(svg.find("steps (the first 200 of 500)"), std::string::npos);
}

TEST(ATimeline, HasItsSpansInProportion) {
  const std::string svg = to_svg(TimelinePlot{.rows = {{"drain", {{0, 1, 0, "first"}, {3, 4, 1, "second"}}}}});

  EXPECT_TRUE(is_balanced(svg));
  EXPECT_NE(svg.find("<title>second</title>"), std::string::npos);
}

TEST(Plots, OfNothingAndOfNoNumbersArePlots) {
  const double no_number = std::numeric_limits<double>::quiet_NaN();

  for (const std::string& svg : {to_svg(LinePlot{}), to_svg(BarPlot{}), to_svg(TimelinePlot{}),
                                 to_svg(LinePlot{.lines = {{"x", {{1, no_number}}}}}),
                                 to_svg(BarPlot{.places = {"a"}, .kinds = {{"x", {no_number}}}})}) {
    EXPECT_TRUE(is_balanced(svg));
    EXPECT_EQ(count(svg, "nan"), 0U) << svg;
    EXPECT_EQ(count(svg, "inf"), 0U) << svg;
  }
}

}  // namespace
}  // namespace glean::plot
