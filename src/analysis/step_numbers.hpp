// SPDX-License-Identifier: BSD-3-Clause
//
// What a condition on a step speaks of (base/condition.hpp): "dens.nan" of statistics, "mine.mass" of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/results.hpp"
#include "base/condition.hpp"

namespace glean::analysis {

// Of what is known of the step so far. Numbers of programs are those of `node`, or joined. Nothing: it is not known, or there is no such
// number, or an extreme of a variable without values.
[[nodiscard]] std::optional<double> number_of(const StepResult& step, const base::Condition::Operand& operand, std::uint64_t node);

// Of all steps of an output together.
struct Verdict {
  bool holds = false;     // for one of them, and on one of the nodes where programs have numbers of each
  std::string unknown{};  // why it is not known that it holds for none; empty: it is
};
[[nodiscard]] Verdict judge(const base::Condition& condition, const OutputResults& results, std::uint64_t nodes);

}  // namespace glean::analysis
