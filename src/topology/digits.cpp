// SPDX-License-Identifier: BSD-3-Clause
#include "topology/digits.hpp"

#include <algorithm>

namespace glean::topology {

std::int64_t number_of_places(const std::vector<int>& extents) {
  std::int64_t number = 1;
  for (const int extent : extents) number *= extent;
  return number;
}

std::int64_t place_number(const std::vector<int>& extents, const std::vector<int>& digits) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) number = number * extents[i] + digits[i];
  return number;
}

std::vector<int> place_digits(const std::vector<int>& extents, std::int64_t number) {
  std::vector<int> digits(extents.size());
  for (std::size_t i = extents.size(); i-- > 0; number /= extents[i]) digits[i] = static_cast<int>(number % extents[i]);
  return digits;
}

bool is_place(const std::vector<int>& extents, const std::vector<int>& digits) {
  return std::equal(digits.begin(), digits.end(), extents.begin(), extents.end(),
                    [](int digit, int extent) { return digit >= 0 && digit < extent; });
}

}  // namespace glean::topology
