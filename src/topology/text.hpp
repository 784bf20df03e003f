// SPDX-License-Identifier: BSD-3-Clause
//
// A machine as text: TOML, described in docs/formats/machine.md. Reading what was written gives the same machine.
#pragma once

#include <string>
#include <string_view>

#include "topology/machine.hpp"

namespace glean::topology {

// `origin` names the text in messages: a path. Strict: every figure has its unit, and what is not understood is an error.
// Local. Throws invalid_config with one line per problem, "path:line: …"; unknown keys with the nearest known one.
[[nodiscard]] Machine machine_from_toml(std::string_view text, const std::string& origin);

// What is zero or empty is left out.
[[nodiscard]] std::string to_toml(const Machine& machine);

// The machine as a JSON object, for other programs; figures with their units too.
[[nodiscard]] std::string to_json(const Machine& machine);

}  // namespace glean::topology
