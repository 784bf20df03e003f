// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace glean::base {
namespace {

struct Quantity {
  long double number = 0;
  std::string_view unit;
};

// A number that is not negative, then a unit, with or without a space between them.
std::optional<Quantity> split(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  std::string_view unit = digits == std::string_view::npos ? std::string_view{} : text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  Quantity quantity{.unit = unit};
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), quantity.number);
  if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  return quantity;
}

constexpr std::array<std::pair<std::string_view, Bytes>, 10> byte_units{{
    {"", 1}, {"B", 1}, {"kB", 1000}, {"MB", 1000'000}, {"GB", 1000'000'000}, {"TB", 1000'000'000'000},
    {"KiB", KiB}, {"MiB", MiB}, {"GiB", GiB}, {"TiB", 1024 * GiB}}};

constexpr std::array<std::pair<std::string_view, long double>, 7> time_units{
    {{"", 1.0L}, {"s", 1.0L}, {"ms", 1e-3L}, {"us", 1e-6L}, {"ns", 1e-9L}, {"min", 60.0L}, {"h", 3600.0L}}};

constexpr std::array<std::pair<std::string_view, long double>, 12> rate_units{
    {{"TB/s", 1e12L}, {"GB/s", 1e9L}, {"MB/s", 1e6L}, {"kB/s", 1e3L}, {"B/s", 1.0L},
     {"TiB/s", 0x1p40L}, {"GiB/s", 0x1p30L}, {"MiB/s", 0x1p20L}, {"KiB/s", 0x1p10L},
     {"Gbit/s", 1.25e8L}, {"Mbit/s", 1.25e5L}, {"kbit/s", 125.0L}}};

template <std::size_t number>
std::optional<double> parse(std::string_view text, const std::array<std::pair<std::string_view, long double>, number>& units) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  for (const auto& [unit, factor] : units) {
    if (unit == quantity->unit) return static_cast<double>(quantity->number * factor);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  for (const auto& [unit, factor] : byte_units) {
    if (unit != quantity->unit) continue;
    const long double bytes = quantity->number * static_cast<long double>(factor);
    if (bytes != std::floor(bytes) || bytes >= 0x1p63L) return std::nullopt;
    return static_cast<Bytes>(bytes);
  }
  return std::nullopt;
}

std::string exact_bytes(Bytes bytes) {
  for (const auto& [unit, factor] : {std::pair{"TiB", 1024 * GiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}}) {
    if (bytes != 0 && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, unit);
  }
  return fmt::format("{}B", bytes);
}

std::string readable_bytes(Bytes bytes) {
  for (const auto& [unit, factor] : {std::pair{"TiB", 1024 * GiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}}) {
    const double number = static_cast<double>(bytes) / static_cast<double>(factor);
    if (bytes < factor) continue;
    const int decimals = number < 10 ? 2 : number < 100 ? 1 : 0;
    std::string digits = fmt::format("{:.{}f}", number, decimals);
    if (digits.find('.') != std::string::npos) {
      digits.erase(digits.find_last_not_of('0') + 1);
      if (digits.ends_with('.')) digits.pop_back();
    }
    return fmt::format("{} {}", digits, unit);
  }
  return fmt::format("{} B", bytes);
}

std::optional<double> parse_rate(std::string_view text) { return parse(text, rate_units); }

std::string exact_rate(double bytes_per_second) {
  for (const auto& [unit, factor] : rate_units) {
    const auto number = static_cast<double>(static_cast<long double>(bytes_per_second) / factor);
    // A unit in which the number is not one that reads back the same is left to a smaller one.
    std::string text = fmt::format("{}{}", number, unit);
    if ((number >= 1 || factor == 1.0L) && parse_rate(text) == bytes_per_second) return text;
  }
  return fmt::format("{:.30f}B/s", bytes_per_second);
}

std::string readable_rate(double bytes_per_second) {
  for (const auto& [unit, factor] : {std::pair{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}}) {
    // Not 1e+03 of the smaller unit.
    if (bytes_per_second >= 0.9995 * factor) return fmt::format("{:.3g} {}", bytes_per_second / factor, unit);
  }
  return fmt::format("{:.3g} B/s", bytes_per_second);
}

std::optional<double> parse_seconds(std::string_view text) { return parse(text, time_units); }

std::string exact_seconds(double seconds) {
  for (const auto& [unit, factor] : {std::pair{"s", 1.0L}, {"ms", 1e-3L}, {"us", 1e-6L}, {"ns", 1e-9L}}) {
    std::string text = fmt::format("{}{}", static_cast<double>(static_cast<long double>(seconds) / factor), unit);
    // Shorter is better: 20us, not 0.00002s. What reads well in seconds stays.
    if ((seconds >= 1e-3 || seconds == 0 || seconds >= static_cast<double>(factor)) && parse_seconds(text) == seconds) return text;
  }
  return fmt::format("{:.30f}s", seconds);
}

std::string readable_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  const std::size_t named = std::min(ranks.size(), most);
  const std::string rest = named == ranks.size() ? "" : fmt::format(" and {} more", ranks.size() - named);
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(ranks.data(), ranks.data() + named, ", "), rest);
}

}  // namespace glean::base
