// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <fmt/format.h>

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

constexpr std::array<std::pair<std::string_view, long double>, 5> time_units{
    {{"", 1.0L}, {"s", 1.0L}, {"ms", 1e-3L}, {"min", 60.0L}, {"h", 3600.0L}}};

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

std::optional<double> parse_seconds(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  for (const auto& [unit, factor] : time_units) {
    if (unit == quantity->unit) return static_cast<double>(quantity->number * factor);
  }
  return std::nullopt;
}

std::string exact_seconds(double seconds) { return fmt::format("{}s", seconds); }

}  // namespace glean::base
