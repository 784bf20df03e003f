// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/name.hpp"

#include <algorithm>

namespace glean::store {
namespace {

constexpr std::size_t longest = 256;   // NC_MAX_NAME

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool may_begin(char c) { return !is_ascii(c) || is_letter_or_digit(c) || c == '_'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string flaw_of_cdf_name(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > longest) {
    return "it has " + std::to_string(name.size()) + " bytes, and at most " + std::to_string(longest) + " are allowed";
  }
  if (!may_begin(name.front())) return "it begins neither with a letter nor with a digit or _";
  if (name.find('/') != name.npos) return "it has a slash";
  if (std::any_of(name.begin(), name.end(), is_control)) return "it has a control character";
  if (name.back() == ' ') return "it ends with a blank";
  return "";
}

}  // namespace glean::store
