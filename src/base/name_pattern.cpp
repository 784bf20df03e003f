// SPDX-License-Identifier: BSD-3-Clause
#include "base/name_pattern.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace glean::base {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_of_name(char c) { return is_decimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The name of the field that begins here with a brace; empty: none does.
std::string_view field_at(std::string_view text) {
  const std::size_t end = text.find('}');
  if (text.empty() || text[0] != '{' || end == text.npos || end == 1) return {};
  const std::string_view name = text.substr(1, end - 1);
  return std::all_of(name.begin(), name.end(), is_of_name) ? name : std::string_view();
}

// Calls `literal` with each character that stands for itself, `field` with the name of each field.
template <class Literal, class Field>
void for_each_part(std::string_view text, Literal literal, Field field) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view name = field_at(text.substr(at));
    if (name.empty()) literal(text[at++]);
    else field(name), at += name.size() + 2;
  }
}

}  // namespace

NamePattern::NamePattern(std::string_view text)
    : text_(text), slashes_(static_cast<std::size_t>(std::count(text.begin(), text.end(), '/'))) {
  std::size_t stars = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t end = c == '[' ? text.find(']', at + 2) : text.npos;
    if (const std::string_view name = field_at(text.substr(at)); !name.empty()) {
      add_field(std::string(name), name == "rank" || name == "step");
      at += name.size() + 2;
    } else if (c == '*') {
      add_field(std::to_string(++stars), false);
      ++at;
    } else if (c == '?') {
      parts_.push_back({Part::Kind::one, {}});
      ++at;
    } else if (end != text.npos) {
      parts_.push_back({Part::Kind::set, std::string(text.substr(at, end + 1 - at))});
      at = end + 1;
    } else {
      if (parts_.empty() || parts_.back().kind != Part::Kind::text) parts_.push_back({Part::Kind::text, {}});
      parts_.back().text += c;
      ++at;
    }
  }
}

void NamePattern::add_field(std::string name, bool digits) {
  parts_.push_back({Part::Kind::field, {}, fields_.size(), digits});
  fields_.push_back(std::move(name));
}

bool NamePattern::match(std::string_view text, Values& values) const noexcept {
  return fields_.size() <= fields_most && match_from(0, text, values);
}

bool NamePattern::match_from(std::size_t index, std::string_view text, Values& values) const noexcept {
  if (index == parts_.size()) return text.empty();
  const Part& part = parts_[index];
  switch (part.kind) {
    case Part::Kind::text:
      return text.starts_with(part.text) && match_from(index + 1, text.substr(part.text.size()), values);
    case Part::Kind::one:
      return !text.empty() && text[0] != '/' && match_from(index + 1, text.substr(1), values);
    case Part::Kind::set: {
      if (text.empty() || text[0] == '/') return false;
      const char one[2] = {text[0], '\0'};
      return fnmatch(part.text.c_str(), one, 0) == 0 && match_from(index + 1, text.substr(1), values);
    }
    case Part::Kind::field: break;
  }
  std::size_t most = 0;
  while (most < text.size() && (part.digits ? is_decimal(text[most]) : text[most] != '/')) ++most;
  for (std::size_t size = most; size >= 1; --size) {   // `{rank}` takes all digits, if it can
    values.of_field[part.field] = text.substr(0, size);
    if (match_from(index + 1, text.substr(size), values)) return true;
  }
  return false;
}

std::string NamePattern::expand(std::string_view into, const Values& values, Extra extra) const {
  std::string name;
  for_each_part(into, [&](char c) { name += c; }, [&](std::string_view field) {
    if (field == extra.name) {
      name += extra.value;
      return;
    }
    const auto found = std::find(fields_.begin(), fields_.end(), field);
    if (found != fields_.end()) name += values.of_field[static_cast<std::size_t>(found - fields_.begin())];
  });
  return name;
}

std::string NamePattern::defect(std::string_view into) const {
  if (into.empty() || into.back() == '/') return "it is no name of a file";
  if (fields_.size() > fields_most) return fmt::format("the pattern has more than {} fields", fields_most);
  for (const std::string& field : fields_) {
    if (std::count(fields_.begin(), fields_.end(), field) > 1) return fmt::format("the pattern has {{{}}} twice", field);
  }
  if (std::find(fields_.begin(), fields_.end(), "rank") == fields_.end()) {
    return "the pattern needs {rank}, where the names of the ranks' files differ: pattern = \"restart.{rank}\"";
  }
  std::string wrong;
  for_each_part(into, [](char) {}, [&](std::string_view field) {
    if (field == "rank") wrong = "with {rank} in it each rank would have a container of its own";
    else if (field != "node" && std::find(fields_.begin(), fields_.end(), field) == fields_.end()) {
      wrong = fmt::format("the pattern has no {{{}}}", field);
    }
  });
  return wrong;
}

}  // namespace glean::base
