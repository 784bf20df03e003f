// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/host_list.hpp"

#include <fmt/format.h>

#include <charconv>

namespace glean::topology {
namespace {

// More than any machine has; what is in an environment variable may still say so.
constexpr std::size_t names_max = 1'000'000;

std::optional<long> number_in(std::string_view text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// The parts between commas that are in no brackets; nullopt where brackets do not match.
std::optional<std::vector<std::string_view>> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if ((c == '[' && inside) || (c == ']' && !inside)) return std::nullopt;
    if (c == '[' || c == ']') inside = c == '[';
    if (c != ',' || (inside && i < text.size())) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (inside) return std::nullopt;
  return parts;
}

// What is between brackets: "08-10,15". Numbers keep the width of the first one.
std::optional<std::vector<std::string>> expand_ranges(std::string_view text) {
  std::vector<std::string> numbers;
  const auto ranges = split_outside_brackets(text);
  if (!ranges) return std::nullopt;
  for (const std::string_view range : *ranges) {
    const std::size_t dash = range.find('-');
    const std::string_view first_text = range.substr(0, dash);
    const auto first = number_in(first_text);
    const auto last = dash == std::string_view::npos ? first : number_in(range.substr(dash + 1));
    if (!first || !last || *last < *first || static_cast<std::size_t>(*last - *first) >= names_max) return std::nullopt;
    for (long number = *first; number <= *last; ++number) numbers.push_back(fmt::format("{:0{}}", number, first_text.size()));
  }
  return numbers;
}

std::optional<std::vector<std::string>> expand_name(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::vector<std::string>{std::string(text)};
  const std::size_t close = text.find(']', open);
  const auto numbers = expand_ranges(text.substr(open + 1, close - open - 1));
  const auto rests = expand_name(text.substr(close + 1));
  if (!numbers || !rests || numbers->size() * rests->size() > names_max) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& number : *numbers) {
    for (const std::string& rest : *rests) names.push_back(std::string(text.substr(0, open)) + number + rest);
  }
  return names;
}

}  // namespace

std::optional<std::vector<std::string>> expand_host_list(std::string_view text) {
  std::vector<std::string> all;
  const auto parts = split_outside_brackets(text);
  if (!parts) return std::nullopt;
  for (const std::string_view part : *parts) {
    const auto names = expand_name(part);
    if (part.empty() || !names || all.size() + names->size() > names_max) return std::nullopt;
    all.insert(all.end(), names->begin(), names->end());
  }
  return all;
}

std::optional<std::vector<int>> expand_counts(std::string_view text) {
  std::vector<int> counts;
  const auto parts = split_outside_brackets(text);
  if (!parts) return std::nullopt;
  for (const std::string_view part : *parts) {
    const std::size_t times = part.find("(x");
    const bool repeated = times != std::string_view::npos && part.ends_with(')');
    const auto count = number_in(part.substr(0, times));
    const auto number = repeated ? number_in(part.substr(times + 2, part.size() - times - 3)) : 1;
    if (!count || !number || *count > INT32_MAX || (times != std::string_view::npos && !repeated)) return std::nullopt;
    if (counts.size() + static_cast<std::size_t>(*number) > names_max) return std::nullopt;
    counts.insert(counts.end(), static_cast<std::size_t>(*number), static_cast<int>(*count));
  }
  return counts;
}

}  // namespace glean::topology
