// SPDX-License-Identifier: BSD-3-Clause
//
// Plans for people: as text, and a group as a graph.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace glean::plan {

// What was planned for, and the plan: a few lines, and a line for each aggregator of each kind of group.
[[nodiscard]] std::string summary(const topology::Machine& machine, const topology::Placement& placement, const Request& request,
                                  const Plan& plan);

// Every alternative with its predicted cost term by term, and why the chosen one was.
[[nodiscard]] std::string explain(const Choice& choice);

// In words: what the group waits for longest, and what stands against the others.
[[nodiscard]] std::string reason(const Choice& choice);

// One group for `dot`: nodes, by the aggregator that they send to, and the gateways.
[[nodiscard]] std::string to_dot(const topology::Machine& machine, const GroupPlan& plan);

[[nodiscard]] const char* name_of(Pattern pattern);
[[nodiscard]] const char* name_of(Sink sink);
[[nodiscard]] const char* name_of(Verdict verdict);

}  // namespace glean::plan
