// SPDX-License-Identifier: BSD-3-Clause
#include "base/natural_order.hpp"

#include <algorithm>

namespace glean::base {
namespace {

constexpr std::string_view digits = "0123456789";

// Takes the digits at the front away; without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::string_view number = text.substr(0, text.find_first_not_of(digits));
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

bool is_digit(char c) { return digits.find(c) != std::string_view::npos; }

}  // namespace

int natural_compare(std::string_view a, std::string_view b) {
  const std::string_view all_of_a = a, all_of_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
    } else {
      if (a.front() != b.front()) return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front()) ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty() ? -1 : 1;
  return all_of_a.compare(all_of_b);
}

}  // namespace glean::base
