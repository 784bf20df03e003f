// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/step_numbers.hpp"

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

}  // namespace glean::analysis
