// SPDX-License-Identifier: BSD-3-Clause
#include "base/program_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/condition.hpp"
#include "base/units.hpp"

namespace glean::base {
namespace {

constexpr Bytes memory_min = 64 * MiB;
constexpr int restarts_max = 1000;
constexpr double wait_max = 60;   // ranks wait as long, which pool.deadline bounds

// "mine.py,libother.so": files of different names, because a table is named after each.
bool assign_programs(Settings& settings, std::string_view text) {
  std::vector<std::string> files;
  std::set<std::string> names{"statistics", "histogram"};
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string file(text.substr(0, comma));
    if (!names.insert(name_of_program(file)).second || (!file.ends_with(".py") && !file.ends_with(".so"))) return false;
    files.push_back(file);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  settings.analysis.programs.files = std::move(files);
  return true;
}

bool assign_program_budget(Settings& settings, std::string_view text) {
  const auto bytes = text == "auto" ? Bytes{0} : parse_bytes(text);
  if (!bytes || (text != "auto" && *bytes == 0)) return false;
  settings.analysis.programs.budget_bytes = *bytes;
  return true;
}

bool assign_program_memory(Settings& settings, std::string_view text) {
  const auto bytes = text == "unlimited" ? Bytes{0} : parse_bytes(text);
  if (!bytes || (text != "unlimited" && *bytes < memory_min)) return false;
  settings.analysis.programs.memory_bytes = *bytes;
  return true;
}

bool assign_program_wait(Settings& settings, std::string_view text) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds < 0 || *seconds > wait_max) return false;
  settings.analysis.programs.wait_seconds = *seconds;
  return true;
}

bool assign_program_deadline(Settings& settings, std::string_view text) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds <= 0) return false;
  settings.analysis.programs.deadline_seconds = *seconds;
  return true;
}

bool assign_program_restarts(Settings& settings, std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number > restarts_max) return false;
  settings.analysis.programs.restarts = number;
  return true;
}

bool assign_condition(std::string& condition, std::string_view text) {
  if (!text.empty() && !Condition::parse(text)) return false;
  condition = text;
  return true;
}

constexpr auto table = std::to_array<Key>({
    {"analyse_with", Scope::output, "files of different names that end in .py or .so, such as mine.py,libother.so; empty: none",
     "Your own analyses of each step: Python files with a function analyse(step), and plug-ins in C.", assign_programs,
     [](const Settings& s) { return fmt::format("{}", fmt::join(s.analysis.programs.files, ",")); }},
    {"analyse_python", Scope::output, "a command", "The Python, with NumPy, that runs the .py files of analyse_with.",
     [](Settings& s, std::string_view text) { return s.analysis.programs.python = text, !text.empty(); },
     [](const Settings& s) { return s.analysis.programs.python; }},
    {"analyse_budget", Scope::output, "bytes, or auto", "What may wait in the pool for each of them; auto: an eighth of the pool.",
     assign_program_budget,
     [](const Settings& s) {
       const Bytes bytes = s.analysis.programs.budget_bytes;
       return bytes == 0 ? std::string("auto") : exact_bytes(bytes);
     }},
    {"analyse_wait", Scope::output, "a duration, at most 60s; 0: not at all",
     "How long ranks may wait for room in the pool because of steps beyond that, which are left out of the analysis then; 0: at once.",
     assign_program_wait,
     [](const Settings& s) { return exact_seconds(s.analysis.programs.wait_seconds); }},
    {"analyse_deadline", Scope::output, "a duration above 0", "The longest time that one of them may take for a step.",
     assign_program_deadline, [](const Settings& s) { return exact_seconds(s.analysis.programs.deadline_seconds); }},
    {"analyse_memory", Scope::output, "bytes from 64MiB, or unlimited",
     "Memory that the process of each of them may have, beside the pool.",
     assign_program_memory,
     [](const Settings& s) {
       const Bytes bytes = s.analysis.programs.memory_bytes;
       return bytes == 0 ? std::string("unlimited") : exact_bytes(bytes);
     }},
    {"analyse_restarts", Scope::output, "0 to 1000", "How often one of them is started again after a crash or a deadline.",
     assign_program_restarts, [](const Settings& s) { return std::to_string(s.analysis.programs.restarts); }},
    {"trigger", Scope::output, "comparisons such as dens.nan > 0 or max(temp) > 1e9; empty: none",
     "A condition on what is found out of a step, by statistics or an analysis of your own: then the next three are done.",
     [](Settings& s, std::string_view text) { return assign_condition(s.analysis.trigger.condition, text); },
     [](const Settings& s) { return s.analysis.trigger.condition; }},
    {"trigger_run", Scope::output, "a command; empty: none", "What the shell runs then, in the background.",
     [](Settings& s, std::string_view text) { return s.analysis.trigger.run = text, true; },
     [](const Settings& s) { return s.analysis.trigger.run; }},
    {"trigger_mark", Scope::output, "a file; empty: none", "A file that is made then, with a line that says why.",
     [](Settings& s, std::string_view text) { return s.analysis.trigger.mark = text, true; },
     [](const Settings& s) { return s.analysis.trigger.mark; }},
    {"trigger_tell", Scope::output, "a text; empty: none", "A message that the program gets then, if it asks for messages.",
     [](Settings& s, std::string_view text) { return s.analysis.trigger.tell = text, true; },
     [](const Settings& s) { return s.analysis.trigger.tell; }},
    {"publish_when", Scope::output, "comparisons such as dens.nan > 0 or max(temp) > 1e9; empty: none",
     "The file appears only if this holds for one of its steps; else it goes when it is complete.",
     [](Settings& s, std::string_view text) { return assign_condition(s.analysis.publish_when, text); },
     [](const Settings& s) { return s.analysis.publish_when; }},
});

}  // namespace

std::span<const Key> program_key_table() { return table; }

std::string name_of_program(std::string_view file) {
  std::string_view name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".so") && name.starts_with("lib")) name.remove_prefix(3);
  return std::string(name.substr(0, name.rfind('.')));
}

}  // namespace glean::base
