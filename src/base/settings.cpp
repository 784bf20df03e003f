// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "base/keys.hpp"

namespace glean::base {

namespace {

// The whole path, or the name of the file.
bool matches(const std::string& pattern, std::string_view path) {
  const std::string whole(path);
  const std::string file_name = whole.substr(whole.rfind('/') + 1);
  return fnmatch(pattern.c_str(), whole.c_str(), 0) == 0 || fnmatch(pattern.c_str(), file_name.c_str(), 0) == 0;
}

Settings with_rules(const Settings& settings, std::string_view path) {
  Settings changed;
  changed.output = settings.output;
  changed.copies = settings.copies;
  changed.analysis = settings.analysis;
  changed.precision = settings.precision;
  for (const Rule& rule : settings.rules) {
    if (!matches(rule.pattern, path)) continue;
    for (const auto& [name, value] : rule.values) {
      if (const Key* key = find_key(name)) key->assign(changed, value);
    }
  }
  return changed;
}

bool any_rule_says(const std::vector<Rule>& rules, std::string_view key, std::string_view value) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return std::any_of(rule.values.begin(), rule.values.end(),
                       [&](const auto& said) { return said.first == key && said.second == value; });
  });
}

// A file may get that mode. Where a rule is for all files, neither the default counts nor what rules before it say; gathered files need a
// pool whatever it says.
bool any_gets(const Settings& settings, Mode mode, std::string_view name) {
  const std::vector<Rule>& rules = settings.rules;
  const auto is_for_all = [](const Rule& rule) {
    const auto says_mode = [](const auto& said) { return said.first == "mode"; };
    return rule.pattern == "*" && std::any_of(rule.values.begin(), rule.values.end(), says_mode);
  };
  const auto last = std::find_if(rules.rbegin(), rules.rend(), is_for_all);
  if (last == rules.rend() || settings.any_gathers()) return settings.output.mode == mode || any_rule_says(rules, "mode", name);
  return any_rule_says({std::prev(last.base()), rules.end()}, "mode", name);
}

}  // namespace

std::string_view Rule::into() const {
  const auto said = std::find_if(values.begin(), values.end(), [](const auto& value) { return value.first == "into"; });
  return said == values.end() ? std::string_view() : std::string_view(said->second);
}

OutputSettings Settings::for_output(std::string_view path) const { return with_rules(*this, path).output; }

CopySettings Settings::copies_of_output(std::string_view path) const { return with_rules(*this, path).copies; }

AnalysisSettings Settings::analysis_of_output(std::string_view path) const { return with_rules(*this, path).analysis; }

PrecisionSettings Settings::precision_of_output(std::string_view path) const { return with_rules(*this, path).precision; }

std::vector<AnalysisTable> Settings::results_of_output(std::string_view path) const {
  std::vector<AnalysisTable> found;
  std::copy_if(analyses.begin(), analyses.end(), std::back_inserter(found), [&](const auto& table) { return matches(table.output, path); });
  return found;
}

bool PrecisionSettings::narrows(std::string_view variable) const {
  return single && (variables.empty() || std::find(variables.begin(), variables.end(), variable) != variables.end());
}

bool Settings::any_gathers() const {
  return std::any_of(rules.begin(), rules.end(), [](const Rule& rule) { return !rule.into().empty(); });
}

bool Settings::any_spills() const { return output.full == WhenFull::spill || any_rule_says(rules, "full", "spill"); }

bool Settings::any_captures() const { return any_drains_here() || any_stages(); }

bool Settings::any_drains_here() const { return any_gets(*this, Mode::threaded, "threaded") || any_needs_writers(); }

bool Settings::any_stages() const { return any_gets(*this, Mode::staged, "staged"); }

bool Settings::any_needs_writers() const { return any_gets(*this, Mode::dedicated, "dedicated"); }

bool Settings::any_writes_collectively() const { return any_gets(*this, Mode::collective, "collective"); }

bool Settings::any_needs_one_file() const {
  return any_needs_writers() || output.publish == Publish::in_place || any_rule_says(rules, "publish", "in-place");
}

}  // namespace glean::base
