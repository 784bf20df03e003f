// SPDX-License-Identifier: BSD-3-Clause
#include "gather/gather_rules.hpp"

#include <algorithm>
#include <filesystem>

#include "gather/directory_names.hpp"

namespace glean::gather {
namespace {

constexpr std::size_t entry_name_most = 255;   // of a file system

std::string_view last_part_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view directories_of(std::string_view path) { return path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/')); }

// Where so many last parts of the path begin, which have `slashes` slashes between them; npos: it has not so many.
std::size_t begin_of_last(std::string_view path, std::size_t slashes) {
  std::size_t slash = path.rfind('/');
  for (; slashes > 0 && slash != path.npos && slash > 0; --slashes) slash = path.rfind('/', slash - 1);
  return slashes > 0 || slash == path.npos ? path.npos : slash + 1;
}

std::string absolute(const std::string& directory, const std::string& into) {
  return (std::filesystem::path(directory) / into).lexically_normal().string();
}

// Files of several directories that `into` leads to one container have other names in it.
std::string name_in(const std::string& container, std::string_view path) {
  const std::string_view directory = std::string_view(container).substr(0, container.rfind('/') + 1);
  return std::string(path.substr(path.starts_with(directory) ? directory.size() : 1));
}

constexpr std::string_view any_text_mark = "\x01";

// The pattern of the shell in which the mark alone stands for any text.
std::string any_text(const std::string& container) {
  std::string pattern;
  for (const char c : container) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c == any_text_mark[0] ? '*' : c;
  }
  return pattern;
}

}  // namespace

std::vector<RuleText> rules_of(const base::Settings& settings) {
  std::vector<RuleText> rules;
  for (const base::Rule& rule : settings.rules) {
    if (!rule.into().empty()) rules.push_back({rule.pattern, std::string(rule.into())});
  }
  return rules;
}

GatherRules::GatherRules(const std::vector<RuleText>& rules, int node) : node_(std::to_string(node)) {
  for (const RuleText& rule : rules) {
    rules_.push_back({base::NamePattern(rule.pattern), base::NamePattern(last_part_of(rule.pattern)),
                      base::NamePattern(directories_of(rule.pattern)), rule.into});
  }
}

bool GatherRules::may_match(std::string_view path) const noexcept {
  const std::string_view last = last_part_of(path);
  if (last.empty() || last.front() == '.') return false;
  base::NamePattern::Values values;
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) { return rule.last_part.match(last, values); });
}

std::optional<RankFile> GatherRules::find(std::string_view path) const {
  if (last_part_of(path).starts_with('.')) return std::nullopt;
  for (std::size_t i = rules_.size(); i-- > 0;) {
    const Rule& rule = rules_[i];
    const std::size_t begin = rule.pattern.is_absolute() ? 0 : begin_of_last(path, rule.pattern.slashes());
    base::NamePattern::Values values;
    if (begin == path.npos || !rule.pattern.match(path.substr(begin), values)) continue;
    const std::size_t after_directory = rule.pattern.is_absolute() ? path.rfind('/') + 1 : begin;
    const std::string directory(path.substr(0, std::max<std::size_t>(after_directory - 1, 1)));
    RankFile found{.path = std::string(path), .container = {}, .name = {}, .rank = {}, .rule = i, .containers_of_nodes = {}};
    found.container = absolute(directory, rule.pattern.expand(rule.into, values, {"node", node_}));
    found.name = name_in(found.container, path);
    if (rule.into.find("{node}") != rule.into.npos) {
      found.containers_of_nodes = any_text(absolute(directory, rule.pattern.expand(rule.into, values, {"node", any_text_mark})));
    }
    found.rank = rule.pattern.expand("{rank}", values, {});
    if (encoded_name(found.name).size() > entry_name_most) return std::nullopt;
    if (found.container != path) return found;
  }
  return std::nullopt;
}

// What only the name of a file says may be anything.
std::vector<std::string> GatherRules::containers_for(std::string_view directory) const {
  const std::string_view path = directory == "/" ? std::string_view() : directory;
  std::vector<std::string> patterns;
  for (const Rule& rule : rules_) {
    base::NamePattern::Values values;
    values.of_field.fill(any_text_mark);
    std::string_view begins_in = directory;
    if (rule.pattern.is_absolute()) {
      if (!rule.directories.match(path, values)) continue;
    } else if (rule.pattern.slashes() > 0) {
      const std::size_t begin = begin_of_last(path, rule.directories.slashes());
      if (begin == path.npos || !rule.directories.match(path.substr(begin), values)) continue;
      begins_in = path.substr(0, std::max<std::size_t>(begin - 1, 1));
    }
    patterns.push_back(any_text(absolute(std::string(begins_in), rule.pattern.expand(rule.into, values, {"node", any_text_mark}))));
  }
  return patterns;
}

std::string GatherRules::rank_of(std::string_view name) const {
  for (const Rule& rule : rules_) {
    base::NamePattern::Values values;
    const base::NamePattern& pattern = rule.pattern.is_absolute() ? rule.last_part : rule.pattern;
    const std::string path = "/" + std::string(name);
    const std::size_t begin = begin_of_last(path, pattern.slashes());
    if (begin == path.npos || !pattern.match(std::string_view(path).substr(begin), values)) continue;
    const std::string digits = pattern.expand("{rank}", values, {});
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - std::min<std::size_t>(1, digits.size())));
  }
  return {};
}

}  // namespace glean::gather
