// SPDX-License-Identifier: BSD-3-Clause
//
// What a condition on a step speaks of (base/condition.hpp): "dens.nan" of statistics, "mine.mass" of a program.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/results.hpp"
#include "base/condition.hpp"

namespace glean::analysis {

// Of what is known of the step so far. Numbers of programs are those of `node`, or joined. Nothing: it is not known, or there is no such
// number, or an extreme of a variable without values.
[[nodiscard]] std::optional<double> number_of(const StepResult& step, const base::Condition::Operand& operand, std::uint64_t node);

}  // namespace glean::analysis
