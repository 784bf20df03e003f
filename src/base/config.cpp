// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <toml++/toml.h>

#include "base/analysis_table.hpp"
#include "base/error.hpp"
#include "base/keys.hpp"
#include "base/name_pattern.hpp"
#include "base/nearest.hpp"

namespace glean::base {
namespace {

constexpr std::string_view prefix = "GLEAN_";
constexpr std::string_view file_variable = "GLEAN_CONFIG";
constexpr std::string_view machines_variable = "GLEAN_MACHINES";   // a directory of machine files, not a setting
constexpr std::string_view stage_key_variable = "GLEAN_STAGE_KEY";   // a secret, and no setting: wire::key_variable
constexpr std::string_view run_prefix = "GLEAN_RUN_";              // what processes of one run tell each other

std::vector<std::string> key_names(Scope least) {
  std::vector<std::string> names;
  for (const Key& key : key_table()) {
    if (least == Scope::session || key.scope == Scope::output) names.emplace_back(key.name);
  }
  return names;
}

// An unknown key that is called as an operator is one that was to change the file itself.
std::string what_instead(const std::string& key, const std::vector<std::string>& known) {
  constexpr std::array<std::string_view, 10> operators{"region", "slice",      "subsample", "threshold", "points",
                                                       "digits", "expression", "bits",      "tolerance", "deflate"};
  if (std::find(operators.begin(), operators.end(), key) == operators.end()) {
    return fmt::format("did you mean '{}'?", nearest(key, known));
  }
  return fmt::format("it is an operator, whose result is a file of its own: [[analysis]], output = \"PATTERN\", run = [\"{} …\"]; "
                     "of the file itself only precision = \"float32\" makes less", key);
}

// Collects values and problems from all sources; later sources win.
class Reader {
 public:
  Reader() {
    for (const Key& key : key_table()) {
      configuration_.entries.push_back({std::string(key.name), key.print(configuration_.settings), "default"});
    }
  }

  void read_file(const std::string& path);
  void read_environment(const Environment& environment);
  void read_program(const std::map<std::string, std::string>& program);
  Configuration finish();

  void problem(const std::string& where, const std::string& what) { problems_.push_back(where + ": " + what); }

 private:
  void read_table(const toml::table& table, const std::string& parent, const std::string& path);
  void read_rules(const toml::node& node, const std::string& path);
  void read_rule(const toml::table& table, const std::string& path);
  void read_analyses(const toml::node& node, const std::string& path);
  void add_rule(const std::vector<Entry>& values, const std::string& origin);
  void set(const std::string& name, std::string_view text, const std::string& origin);
  void refuse_value(const Key& key, std::string_view text, const std::string& origin);

  Configuration configuration_;
  std::vector<std::string> problems_;
};

std::string place(const std::string& path, const toml::node& node) {
  return fmt::format("{}:{}", path, node.source().begin.line);
}

// The text that the environment would have for a value of the file; nullopt for what no key takes.
std::optional<std::string> text_of(const toml::node& node, std::string_view between = ",") {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* moment = node.as_date_time()) {
    std::ostringstream text;
    text << moment->get();
    return text.str();
  }
  if (const auto* list = node.as_array()) {
    std::vector<std::string> parts;
    for (const toml::node& element : *list) {
      const auto part = element.is_value() ? text_of(element) : std::nullopt;
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    return fmt::format("{}", fmt::join(parts, between));
  }
  return std::nullopt;
}

void Reader::refuse_value(const Key& key, std::string_view text, const std::string& origin) {
  problem(origin, fmt::format("{} = '{}' cannot be; it takes {}", key.name, text, key.values));
}

void Reader::set(const std::string& name, std::string_view text, const std::string& origin) {
  const Key* key = find_key(name);
  if (!key) {
    problem(origin, fmt::format("unknown key '{}'; {}", name, what_instead(name, key_names(Scope::session))));
    return;
  }
  if (name == "into" && !text.empty()) return problem(origin, "into stands in a [[rule]], with the pattern of the files that it gathers");
  if (!key->assign(configuration_.settings, text)) {
    refuse_value(*key, text, origin);
    return;
  }
  Entry& entry = configuration_.entries[static_cast<std::size_t>(key - key_table().data())];
  entry.value = key->print(configuration_.settings);
  entry.origin = origin;
}

void Reader::read_file(const std::string& path) {
  configuration_.file = path;
  if (std::error_code none; std::filesystem::is_directory(path, none)) return problem(path, "it is a directory, and no configuration file");
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    problem(line == 0 ? path : fmt::format("{}:{}", path, line), std::string(error.description()));
    return;
  }
  read_table(table, "", path);
}

void Reader::read_table(const toml::table& table, const std::string& parent, const std::string& path) {
  for (const auto& [key, node] : table) {
    const std::string name = parent.empty() ? std::string(key.str()) : parent + "." + std::string(key.str());
    const std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
    if (name == "rule") {
      read_rules(node, path);
    } else if (name == "analysis") {
      read_analyses(node, path);
    } else if (const auto* inner = node.as_table(); inner && !find_key(name)) {
      read_table(*inner, name, path);
    } else if (const auto text = text_of(node)) {
      set(name, *text, origin);
    } else if (const Key* known = find_key(name)) {
      problem(origin, fmt::format("{} takes {}", name, known->values));
    } else {
      set(name, "", origin);
    }
  }
}

void Reader::read_rules(const toml::node& node, const std::string& path) {
  const auto* list = node.as_array();
  if (!list || !list->is_array_of_tables()) {
    problem(place(path, node), "a rule is written as [[rule]]");
    return;
  }
  for (const toml::node& rule : *list) read_rule(*rule.as_table(), path);
}

void Reader::read_rule(const toml::table& table, const std::string& path) {
  std::vector<Entry> values;
  for (const auto& [key, node] : table) {
    const std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
    // What is no text is none of a pattern, whatever it would be as one.
    const bool is_text = key.str() != "pattern" || node.is_string();
    values.push_back({std::string(key.str()), is_text ? text_of(node).value_or("") : "", origin});
  }
  add_rule(values, place(path, table));
}

// `values`: of the rule, by their names in it. `origin`: of the rule.
void Reader::add_rule(const std::vector<Entry>& values, const std::string& origin) {
  Rule rule;
  const std::string prefix_of_entry = fmt::format("rule[{}].", configuration_.settings.rules.size());
  const auto pattern = std::find_if(values.begin(), values.end(), [](const Entry& one) { return one.key == "pattern"; });
  if (pattern != values.end() && !pattern->value.empty()) {
    rule.pattern = pattern->value;
    configuration_.entries.push_back({prefix_of_entry + "pattern", rule.pattern, pattern->origin});
  } else {
    problem(origin, "a rule needs a pattern, such as pattern = \"*_chk_*\"");
  }
  for (const auto& [name, text, from] : values) {
    if (name == "pattern") continue;
    const Key* known = find_key(name);
    if (!known || known->scope != Scope::output) {
      std::vector<std::string> allowed = key_names(Scope::output);
      allowed.insert(allowed.begin(), "pattern");
      if (known) {
        problem(from, fmt::format("{} is the same for all files; a rule has {}", name, fmt::join(allowed, ", ")));
      } else {
        problem(from, fmt::format("unknown key '{}' of a rule; {}", name, what_instead(name, allowed)));
      }
      continue;
    }
    Settings scratch;
    if (!known->assign(scratch, text)) {
      refuse_value(*known, text, from);
      continue;
    }
    rule.values.emplace_back(name, text);
    configuration_.entries.push_back({prefix_of_entry + name, known->print(scratch), from});
  }
  if (const std::string_view into = rule.into(); !into.empty()) {
    const std::string wrong = NamePattern(rule.pattern).defect(into);
    if (!wrong.empty()) problem(origin, fmt::format("into = '{}': {}", into, wrong));
    if (rule.values.size() > 1) problem(origin, "a rule with into has nothing else: its files are no outputs of their own");
  }
  configuration_.settings.rules.push_back(std::move(rule));
}

void Reader::read_analyses(const toml::node& node, const std::string& path) {
  const auto* list = node.as_array();
  if (!list || !list->is_array_of_tables()) return problem(place(path, node), "an analysis is written as [[analysis]]");
  for (const toml::node& one : *list) {
    std::vector<Entry> values;
    for (const auto& [key, value] : *one.as_table()) {
      const bool has_operators = key.str() == "run";   // in which there are commas
      values.push_back({std::string(key.str()), text_of(value, has_operators ? "; " : ",").value_or(""),
                        fmt::format("{}:{}", path, key.source().begin.line)});
    }
    add_analysis_table(values, place(path, one), configuration_, problems_);
  }
}

void Reader::read_environment(const Environment& environment) {
  std::map<std::string, std::string> key_of;
  std::vector<std::string> variables = {std::string(file_variable), std::string(machines_variable), std::string(stage_key_variable)};
  for (const Key& key : key_table()) {
    key_of[environment_name(key.name)] = key.name;
    variables.push_back(environment_name(key.name));
  }
  for (const auto& [name, value] : environment) {
    const bool is_no_setting = name == file_variable || name == machines_variable || name == stage_key_variable;
    if (!name.starts_with(prefix) || is_no_setting || name.starts_with(run_prefix)) continue;
    if (const auto found = key_of.find(name); found != key_of.end()) {
      set(found->second, value, name);
    } else {
      problem("environment", fmt::format("unknown variable {}; did you mean {}?", name, nearest(name, variables)));
    }
  }
}

void Reader::read_program(const std::map<std::string, std::string>& program) {
  std::map<unsigned long, std::vector<Entry>> rules, analyses;   // by their numbers
  for (const auto& setting : program) {
    const std::string& name = setting.first;
    const auto is_of = [&](std::string_view before, auto& tables) {
      char* end = nullptr;
      const unsigned long number = name.starts_with(before) ? std::strtoul(name.c_str() + before.size(), &end, 10) : 0;
      if (end == nullptr || !std::string_view(end).starts_with("].")) return false;
      tables[number].push_back({end + 2, setting.second, "program"});
      return true;
    };
    if (!is_of("rule[", rules) && !is_of("analysis[", analyses)) set(name, setting.second, "program");
  }
  for (const auto& [number, values] : rules) add_rule(values, fmt::format("program, rule[{}]", number));
  for (const auto& [number, values] : analyses) {
    add_analysis_table(values, fmt::format("program, analysis[{}]", number), configuration_, problems_);
  }
}

Configuration Reader::finish() {
  const SpillSettings& spill = configuration_.settings.spill;
  if (configuration_.settings.any_spills() && (spill.directory.empty() || spill.budget_bytes == 0)) {
    problem("full = 'spill'", fmt::format("needs {}", spill.directory.empty() ? "spill.directory" : "spill.budget"));
  }
  if (configuration_.settings.plan.files != 1 && configuration_.settings.any_needs_one_file()) {
    problem("plan.files", "several files need publish = 'rename' for all outputs, and none with mode = 'dedicated'");
  }
  if (configuration_.settings.any_stages() && (configuration_.settings.any_drains_here() || configuration_.settings.plan.files != 1)) {
    problem("mode = 'staged'", "stagers write all outputs of a session, each as one file: only passthrough and collective go beside it");
  }
  if (problems_.empty()) return std::move(configuration_);
  const std::string head =
      problems_.size() == 1 ? "configuration: " : fmt::format("configuration, {} problems:\n  ", problems_.size());
  throw Error(Errc::invalid_config, head + fmt::format("{}", fmt::join(problems_, "\n  ")),
              "`glean config --keys` lists all keys");
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (!text.starts_with(prefix) || equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::vector<KeyDescription> configuration_keys() {
  std::vector<KeyDescription> keys;
  const Settings defaults;
  for (const Key& key : key_table()) {
    keys.push_back({std::string(key.name), environment_name(key.name), std::string(key.values),
                    std::string(key.description), key.print(defaults)});
  }
  return keys;
}

Configuration load_configuration(const std::map<std::string, std::string>& program, const Environment& environment,
                                 const std::string& directory) {
  Reader reader;
  const auto named = environment.find(std::string(file_variable));
  if (named != environment.end()) {
    if (!named->second.empty()) reader.read_file(named->second);
  } else {
    std::filesystem::path path = "glean.toml";
    if (directory != ".") path = directory / path;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) reader.read_file(path.string());
  }
  reader.read_environment(environment);
  reader.read_program(program);
  return reader.finish();
}

}  // namespace glean::base
