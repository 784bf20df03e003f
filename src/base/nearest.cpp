// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest.hpp"

#include <algorithm>
#include <vector>

namespace glean::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> distance((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return distance[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  const auto closer = [&](const std::string& a, const std::string& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  };
  const auto found = std::min_element(candidates.begin(), candidates.end(), closer);
  return found == candidates.end() ? std::string{} : *found;
}

}  // namespace glean::base
