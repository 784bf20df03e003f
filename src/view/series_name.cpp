// SPDX-License-Identifier: BSD-3-Clause
#include "view/series_name.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace glean::view {

std::string series_name(const std::string& file_name) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::string ending = std::filesystem::path(file_name).extension();
  // Of "run.0012" the number is no ending.
  const bool ends_in_number = ending.size() > 1 && std::all_of(ending.begin() + 1, ending.end(), is_digit);
  const std::size_t stem = ends_in_number ? file_name.size() : file_name.size() - ending.size();
  std::size_t end = stem;
  while (end > 0 && !is_digit(file_name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(file_name[begin - 1])) --begin;
  return begin == end ? file_name : file_name.substr(0, begin) + "#" + file_name.substr(end);
}

}  // namespace glean::view
