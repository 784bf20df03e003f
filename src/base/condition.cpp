// SPDX-License-Identifier: BSD-3-Clause
#include "base/condition.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace glean::base {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = text.find(by)) != text.npos; text.remove_prefix(at + by.size())) parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

// "dens.nan" or "nan(dens)".
std::optional<Condition::Operand> parse_operand(std::string_view text) {
  Condition::Operand operand;
  if (text.ends_with(')')) {
    const std::size_t open = text.find('(');
    if (open == text.npos) return std::nullopt;
    operand = {std::string(trimmed(text.substr(open + 1, text.size() - open - 2))), std::string(trimmed(text.substr(0, open)))};
  } else {
    const std::size_t dot = text.rfind('.');
    if (dot == text.npos) return std::nullopt;
    operand = {std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
  }
  const bool is_named = !operand.name.empty() && !operand.number.empty();
  const bool is_clean = (operand.name + operand.number).find_first_of(" \t<>=!()") == std::string::npos;
  return is_named && is_clean ? std::optional(operand) : std::nullopt;
}

}  // namespace

std::optional<Condition::Term> Condition::parse_term(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Comparison>, 6> signs{{{"<=", Comparison::at_most},
                                                                         {">=", Comparison::at_least},
                                                                         {"==", Comparison::equal},
                                                                         {"!=", Comparison::unequal},
                                                                         {"<", Comparison::less},
                                                                         {">", Comparison::greater}}};
  for (const auto& [sign, comparison] : signs) {
    const std::size_t at = text.find(sign);
    if (at == text.npos) continue;
    const auto operand = parse_operand(trimmed(text.substr(0, at)));
    std::string_view number = trimmed(text.substr(at + sign.size()));
    if (number.starts_with('+')) number.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (!operand || error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
    return Term{*operand, comparison, value};
  }
  return std::nullopt;
}

std::optional<Condition> Condition::parse(std::string_view text) {
  Condition condition;
  for (const std::string_view alternative : split(text, " or ")) {
    auto& terms = condition.any_of_all_.emplace_back();
    for (const std::string_view each : split(alternative, " and ")) {
      const auto term = parse_term(each);
      if (!term) return std::nullopt;
      terms.push_back(*term);
    }
  }
  return condition;
}

bool Condition::compares(Comparison comparison, double left, double right) {
  switch (comparison) {
    case Comparison::less: return left < right;
    case Comparison::at_most: return left <= right;
    case Comparison::greater: return left > right;
    case Comparison::at_least: return left >= right;
    case Comparison::equal: return left == right;
    case Comparison::unequal: return left != right;
  }
  return false;
}

std::optional<Condition::Holds> Condition::holds(const Look& look) const {
  for (const auto& terms : any_of_all_) {
    std::optional<Holds> found;
    for (const Term& term : terms) {
      const auto value = look(term.operand);
      if (!value || !compares(term.comparison, *value, term.value)) {
        found.reset();
        break;
      }
      if (!found) found = Holds{term.operand, *value};
    }
    if (found) return found;
  }
  return std::nullopt;
}

std::vector<Condition::Operand> Condition::operands() const {
  std::vector<Operand> all;
  for (const auto& terms : any_of_all_) {
    for (const Term& each : terms) all.push_back(each.operand);
  }
  return all;
}

}  // namespace glean::base
