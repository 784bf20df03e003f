// SPDX-License-Identifier: BSD-3-Clause
#include "plot/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace glean::plot {
namespace {

// Those that people with the common colour blindnesses tell apart (Okabe and Ito, Tol).
constexpr std::array<const char*, 10> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9",
                                                 "#e69f00", "#7a7a7a", "#882255", "#999933", "#332288"};

// Bytes of a UTF-8 sequence that begins there; 0: none does.
std::size_t sequence_at(const std::string& text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const char each = text[at];
    const std::size_t length = sequence_at(text, at);
    if (each == '<') safe += "&lt;";
    else if (each == '>') safe += "&gt;";
    else if (each == '&') safe += "&amp;";
    else if (each == '"') safe += "&quot;";
    else if (each == '\'') safe += "&#39;";
    else if (length == 0 || (static_cast<unsigned char>(each) < 0x20 && each != '\n' && each != '\t')) safe += '?';
    else safe += text.substr(at, length);
    at += std::max<std::size_t>(1, length);
  }
  return safe;
}

std::vector<double> ticks(double least, double most, int count) {
  if (!(most > least)) return {least};
  const double rough = (most - least) / std::max(1, count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
  std::vector<double> values;
  for (double i = std::ceil(least / step - 1e-9); i * step <= most + step * 1e-9; ++i) values.push_back(i * step);
  return values;
}

std::vector<double> logarithmic_ticks(double least, double most) {
  std::vector<double> values;
  const double base = most / least >= 100 ? 10 : 2;
  for (double power = std::floor(std::log(least) / std::log(base) + 1e-9); std::pow(base, power) <= most * (1 + 1e-9); ++power) {
    if (std::pow(base, power) >= least * (1 - 1e-9)) values.push_back(std::pow(base, power));
  }
  return values;
}

double Axis::at(double value) const {
  const auto place = [this](double v) { return scale == Scale::logarithmic ? std::log(v) : v; };
  return begin + (end - begin) * (place(value) - place(least)) / (place(most) - place(least));
}

std::vector<double> Axis::marks() const { return scale == Scale::logarithmic ? logarithmic_ticks(least, most) : ticks(least, most, 5); }

Axis axis_for(Scale scale, double least, double most, double begin, double end) {
  Axis axis{.scale = scale, .begin = begin, .end = end};
  if (scale == Scale::logarithmic) {
    axis.least = least > 0 ? least : 1;
    axis.most = most > axis.least ? most : axis.least * 10;
    return axis;
  }
  axis.least = std::min(0.0, least);
  axis.most = most > axis.least ? axis.least + (most - axis.least) * 1.04 : axis.least + 1;
  return axis;
}

std::string tick_text(double value) {
  const double size = std::fabs(value);
  if (size >= 1 && size < 1e6 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  if (size >= 1e9) return fmt::format("{:.4g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", size < 1e-12 ? 0.0 : value);
}

const char* colour(std::size_t index) { return colours[index % colours.size()]; }

std::string svg_begin(double height, const std::string& title) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                     "role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>{2}</title>\n"
                     "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n",
                     paper_width, height, escaped(title)) +
         svg_text(left_margin, 20, title, "font-size=\"14\" font-weight=\"bold\"");
}

std::string svg_text(double x, double y, const std::string& text, const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(text));
}

// In rows that are full from the left.
Legend legend_of(const std::vector<std::string>& names) {
  constexpr double row_height = 17;
  Legend legend;
  double x = left_margin, y = top_margin + 4;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double width = 34 + 6.6 * static_cast<double>(names[i].size());
    if (x + width > paper_width && x > left_margin) {
      x = left_margin;
      y += row_height;
    }
    legend.svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, y - 10, colour(i));
    legend.svg += svg_text(x + 17, y, names[i], "");
    x += width;
  }
  if (!names.empty()) legend.height = y - (top_margin + 4) + row_height + 8;
  return legend;
}

}  // namespace glean::plot
