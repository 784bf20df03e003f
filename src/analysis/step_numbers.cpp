// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/step_numbers.hpp"

#include <algorithm>
#include <vector>

namespace glean::analysis {
namespace {

std::optional<double> number_of(const Statistics& found, std::string_view number) {
  if (number == "values") return static_cast<double>(found.finite);
  if (number == "nan") return static_cast<double>(found.nan);
  if (number == "infinite") return static_cast<double>(found.infinite);
  if (found.finite == 0) return std::nullopt;
  if (number == "min" || number == "minimum") return found.minimum;
  if (number == "max" || number == "maximum") return found.maximum;
  if (number == "mean") return found.mean;
  if (number == "deviation") return found.deviation();
  return std::nullopt;
}

}  // namespace

std::optional<double> number_of(const StepResult& step, const base::Condition::Operand& operand, std::uint64_t node) {
  if (const auto variable = step.variables.find(operand.name); variable != step.variables.end()) {
    if (const auto number = number_of(variable->second.statistics(), operand.number)) return number;
  }
  const auto program = step.programs.find(operand.name);
  if (program == step.programs.end()) return std::nullopt;
  for (const std::uint64_t of : {node, ProgramResult::all_nodes}) {
    if (const auto found = program->second.values.find({operand.number, of}); found != program->second.values.end()) {
      return found->second.value;
    }
  }
  return std::nullopt;
}

Verdict judge(const base::Condition& condition, const OutputResults& results, std::uint64_t nodes) {
  std::string unknown = results.lost();
  std::vector<base::Condition::Operand> never_known = condition.operands();
  for (const auto& entry : results.steps()) {
    const auto& step = entry.second;   // not a structured binding: clang 14 captures none in a lambda
    if (!step.left_out.empty()) unknown = step.left_out;
    for (const auto& [name, program] : step.programs) {
      if (!program.left_out.empty()) unknown = program.left_out;
    }
    for (std::uint64_t node = 0; node < std::max<std::uint64_t>(1, nodes); ++node) {
      const auto look = [&](const base::Condition::Operand& operand) { return number_of(step, operand, node); };
      if (condition.holds(look)) return {.holds = true};
      std::erase_if(never_known, [&](const base::Condition::Operand& operand) { return look(operand).has_value(); });
    }
  }
  if (unknown.empty() && !never_known.empty()) {
    unknown = "there is no " + never_known.front().name + "." + never_known.front().number + " in any step";
  }
  return {.holds = false, .unknown = unknown};
}

}  // namespace glean::analysis
