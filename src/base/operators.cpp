// SPDX-License-Identifier: BSD-3-Clause
#include "base/operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace glean::base {
namespace {

using Kind = Operator::Kind;

struct Form {
  std::string_view name;
  Kind kind;
  std::string_view example;
};

constexpr std::array<Form, 11> forms{{{"region", Kind::region, "region x=10:20 y@0.25:0.75"},
                                      {"slice", Kind::slice, "slice z=12"},
                                      {"subsample", Kind::subsample, "subsample x=2 y=4"},
                                      {"threshold", Kind::threshold, "threshold dens=0.1:1"},
                                      {"points", Kind::points, "points dens=0.5:"},
                                      {"expression", Kind::expression, "expression speed = sqrt(velx^2 + vely^2)"},
                                      {"precision", Kind::precision, "precision float32 dens,pres"},
                                      {"digits", Kind::digits, "digits 4"},
                                      {"bits", Kind::bits, "bits 12"},
                                      {"tolerance", Kind::tolerance, "tolerance 1e-3"},
                                      {"deflate", Kind::deflate, "deflate 4"}}};

constexpr std::string_view blanks = " \t\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string> split(std::string_view text, std::string_view between) {
  std::vector<std::string> parts;
  while (!(text = text.substr(std::min(text.find_first_not_of(between), text.size()))).empty()) {
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    parts.emplace_back(trimmed(text.substr(0, end)));
    text.remove_prefix(end);
  }
  return parts;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

// "low:high", either of which may be left out, not both.
template <class Number>
bool read_range(std::string_view text, std::optional<Number>& low, std::optional<Number>& high) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || text.size() == 1) return false;
  const std::string_view first = text.substr(0, colon), second = text.substr(colon + 1);
  if (!first.empty()) low = number_of<Number>(first);
  if (!second.empty()) high = number_of<Number>(second);
  return (first.empty() || low) && (second.empty() || high);
}

class Parser {
 public:
  explicit Parser(std::string_view text) { made_.text = trimmed(text); }

  Operator parse() {
    const std::string_view text = made_.text;
    const std::size_t end = std::min(text.find_first_of(blanks), text.size());
    const std::string_view name = text.substr(0, end), rest = trimmed(text.substr(end));
    const auto form = std::find_if(forms.begin(), forms.end(), [&](const Form& one) { return one.name == name; });
    if (form == forms.end()) {
      std::vector<std::string> names;
      for (const Form& one : forms) names.emplace_back(one.name);
      const std::string meant = nearest(name, names);
      wrong(fmt::format("there is no operator '{}'{}; there are {}", name, meant.empty() ? "" : fmt::format(" (nearest: '{}')", meant),
                        fmt::join(names, ", ")));
    } else {
      made_.kind = form->kind;
      read(rest);
      if (!wrong_.empty()) wrong_.back() += fmt::format(" (for example: {})", form->example);
    }
    if (!wrong_.empty()) {
      throw Error(Errc::invalid_argument, fmt::format("'{}': {}", made_.text, fmt::join(wrong_, "; ")), operator_examples());
    }
    return std::move(made_);
  }

 private:
  void wrong(std::string what) { wrong_.push_back(std::move(what)); }

  void read(std::string_view rest) {
    switch (made_.kind) {
      case Kind::region:
      case Kind::slice:
      case Kind::subsample: return read_dimensions(rest);
      case Kind::threshold:
      case Kind::points: return read_values(rest);
      case Kind::expression: return read_expression(rest);
      default: return read_number(rest);
    }
  }

  void read_dimensions(std::string_view rest) {
    const auto words = split(rest, blanks);
    if (made_.kind == Kind::subsample && words.size() == 1 && words[0].find('=') == std::string::npos) {
      const auto stride = number_of<std::int64_t>(words[0]);
      if (!stride || *stride < 1) return wrong(fmt::format("'{}' is no stride", words[0]));
      made_.number = static_cast<double>(*stride);
      return;
    }
    if (words.empty()) wrong("it names no dimension");
    for (const std::string& word : words) read_dimension(word);
  }

  void read_dimension(const std::string& word) {
    const std::size_t sign = word.find_first_of("=@");
    if (sign == word.npos || sign == 0) return wrong(fmt::format("'{}' is no dimension with '=' or '@' and what is taken of it", word));
    DimensionRange range;
    range.dimension = word.substr(0, sign);
    range.by_coordinates = word[sign] == '@';
    if (std::any_of(made_.dimensions.begin(), made_.dimensions.end(), [&](const auto& one) { return one.dimension == range.dimension; })) {
      return wrong(fmt::format("'{}' stands in it twice", range.dimension));
    }
    const std::string_view what = std::string_view(word).substr(sign + 1);
    if (made_.kind == Kind::region ? !read_region(what, range) : !read_place(what, range)) {
      wrong(fmt::format("'{}' is no {} of '{}'", what,
                        made_.kind == Kind::subsample ? "stride"
                        : made_.kind == Kind::slice   ? "place"
                                                      : "range that has something",
                        range.dimension));
    }
    made_.dimensions.push_back(std::move(range));
  }

  static bool read_region(std::string_view what, DimensionRange& range) {
    if (range.by_coordinates) {
      std::optional<double> low, high;
      if (!read_range(what, low, high)) return false;
      range.low = low.value_or(range.low);
      range.high = high.value_or(range.high);
      return range.low <= range.high;
    }
    std::optional<std::int64_t> begin;
    if (!read_range(what, begin, range.end)) return false;
    range.begin = begin.value_or(0);
    return !range.end || (range.begin < 0) != (*range.end < 0) || range.begin < *range.end;
  }

  [[nodiscard]] bool read_place(std::string_view what, DimensionRange& range) const {
    if (range.by_coordinates) {
      const auto place = number_of<double>(what);
      range.low = range.high = place.value_or(0);
      return place && made_.kind == Kind::slice;
    }
    const auto index = number_of<std::int64_t>(what);
    range.begin = index.value_or(0);
    return index && (made_.kind == Kind::slice || *index >= 1);
  }

  void read_values(std::string_view rest) {
    const auto words = split(rest, blanks);
    if (words.empty()) wrong("it names no variable");
    if (made_.kind == Kind::points && words.size() > 1) wrong("it is of one variable");
    for (const std::string& word : words) {
      const std::size_t sign = word.rfind('=');
      std::optional<double> low, high;
      if (sign == word.npos || sign == 0 || !read_range(std::string_view(word).substr(sign + 1), low, high)) {
        wrong(fmt::format("'{}' is no variable with '=' and its lowest and highest value", word));
        continue;
      }
      ValueRange range{word.substr(0, sign)};
      range.low = low.value_or(range.low);
      range.high = high.value_or(range.high);
      if (range.low > range.high) wrong(fmt::format("'{}' lets no value through", word));
      made_.values.push_back(std::move(range));
    }
  }

  void read_expression(std::string_view rest) {
    const std::size_t sign = rest.find('=');
    made_.name = trimmed(rest.substr(0, sign));
    if (sign != rest.npos) made_.formula = trimmed(rest.substr(sign + 1));
    const auto is_of_names = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    const bool is_name = !made_.name.empty() && std::isdigit(static_cast<unsigned char>(made_.name[0])) == 0 &&
                         std::all_of(made_.name.begin(), made_.name.end(), is_of_names);
    if (!is_name) wrong(fmt::format("'{}' is no name of letters, digits and '_' for what is computed", made_.name));
    if (made_.formula.empty()) wrong("there is no formula behind '='");
  }

  // "precision float32 a,b", "digits 4".
  void read_number(std::string_view rest) {
    const std::size_t end = std::min(rest.find_first_of(blanks), rest.size());
    const std::string_view word = rest.substr(0, end);
    made_.variables = split(rest.substr(end), " ,\t\n");
    const auto number = number_of<double>(word);
    const auto is_whole = [&](double low, double high) {
      return number && *number == std::floor(*number) && *number >= low && *number <= high;
    };
    bool fits = false;
    switch (made_.kind) {
      case Kind::precision: fits = word == "float32"; break;
      case Kind::digits: fits = is_whole(1, 15); break;
      case Kind::bits: fits = is_whole(1, 52); break;
      case Kind::deflate: fits = word.empty() || is_whole(1, 9); break;
      default: fits = number && *number > 0; break;
    }
    if (!fits) {
      const std::string_view takes = made_.kind == Kind::precision ? "float32"
                                     : made_.kind == Kind::digits  ? "1 to 15 significant digits"
                                     : made_.kind == Kind::bits    ? "1 to 52 significant bits"
                                     : made_.kind == Kind::deflate ? "a level from 1 to 9"
                                                                   : "the largest error, more than 0";
      wrong(fmt::format("'{}' cannot be; it takes {}", word, takes));
    }
    if (made_.kind == Kind::deflate && !made_.variables.empty()) wrong("deflate is of all variables");
    made_.number = made_.kind == Kind::deflate ? number.value_or(4) : number.value_or(0);
  }

  Operator made_;
  std::vector<std::string> wrong_;
};

}   // namespace

Operator parse_operator(std::string_view text) { return Parser(text).parse(); }

std::vector<std::string> split_operators(std::string_view text) {
  std::vector<std::string> parts;
  for (std::string& part : split(text, ";")) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

std::string operator_examples() {
  std::string text = "operators are, for example:";
  for (const Form& form : forms) text += fmt::format(" \"{}\"", form.example);
  return text;
}

}   // namespace glean::base
