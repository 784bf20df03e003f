// SPDX-License-Identifier: BSD-3-Clause
//
// A trace on its way from one process to another. Not for people: docs/report.md has what they read.
#pragma once

#include <string>

#include "drain/trace.hpp"

namespace glean::drain {

[[nodiscard]] std::string trace_to_json(const DrainTrace& trace);
// Throws io when `text` is not what trace_to_json() made.
[[nodiscard]] DrainTrace trace_from_json(const std::string& text);

}  // namespace glean::drain
