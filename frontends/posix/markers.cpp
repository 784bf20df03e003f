// SPDX-License-Identifier: BSD-3-Clause
#include "markers.hpp"

#include <algorithm>
#include <array>

namespace glean::posix {
namespace {

constexpr std::array<std::string_view, 6> marker_words = {"done", "ok", "ready", "complete", "success", "sum"};
constexpr std::array<std::string_view, 2> beginnings_of_words = {"md5", "sha"};   // md5sum, sha256

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool are_alike(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

bool is_marker_word(std::string_view word) {
  const bool is_one = std::any_of(marker_words.begin(), marker_words.end(), [&](std::string_view each) { return are_alike(word, each); });
  return is_one || std::any_of(beginnings_of_words.begin(), beginnings_of_words.end(),
                               [&](std::string_view each) { return are_alike(word.substr(0, each.size()), each); });
}

// After `[`: whether one of the set is `c`. `pattern` is behind the set then; unchanged where the set has no end.
bool is_in_set(std::string_view& pattern, char c, bool& is_set) {
  std::size_t at = 0;
  const bool is_negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (is_negated) ++at;
  bool is_in = false;
  for (const std::size_t first = at; at < pattern.size() && (pattern[at] != ']' || at == first); ++at) {
    const bool is_range = at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    if (is_range) {
      is_in = is_in || (pattern[at] <= c && c <= pattern[at + 2]);
      at += 2;
    } else {
      is_in = is_in || pattern[at] == c;
    }
  }
  is_set = at < pattern.size();
  if (is_set) pattern.remove_prefix(at + 1);
  return is_in != is_negated;
}

// One character of the pattern that is no `*`, which is removed from it.
bool takes(std::string_view& pattern, char c) {
  const char first = pattern.front();
  pattern.remove_prefix(1);
  if (first == '?') return true;
  if (first == '[') {
    bool is_set = false;
    const bool is_in = is_in_set(pattern, c, is_set);
    if (is_set) return is_in;
  }
  if (first == '\\' && !pattern.empty()) {
    const char literal = pattern.front();
    pattern.remove_prefix(1);
    return literal == c;
  }
  return first == c;
}

}  // namespace

std::string_view marked_by(std::string_view path) noexcept {
  const std::size_t separator = path.find_last_of("._-/");
  if (separator == std::string_view::npos || separator == 0 || path[separator] == '/' || path[separator - 1] == '/') return {};
  return is_marker_word(path.substr(separator + 1)) ? path.substr(0, separator) : std::string_view{};
}

bool matches(std::string_view pattern, std::string_view text) noexcept {
  std::string_view after_star, left;   // the pattern behind the last `*`, and the text from where it is tried
  bool has_star = false;
  for (;;) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      has_star = true;
      after_star = pattern;
      left = text;
      continue;
    }
    if (pattern.empty() ? text.empty() : !text.empty() && takes(pattern, text.front())) {
      if (text.empty()) return true;
      text.remove_prefix(1);
      continue;
    }
    if (!has_star || left.empty()) return false;
    left.remove_prefix(1);
    pattern = after_star;
    text = left;
  }
}

bool MarkerPatterns::match(std::string_view path) const noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::string_view rest = listed_; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view pattern = rest.substr(0, comma);
    if (matches(pattern, name) || matches(pattern, path)) return true;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return false;
}

}  // namespace glean::posix
