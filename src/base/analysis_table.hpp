// SPDX-License-Identifier: BSD-3-Clause
//
// Reads one `[[analysis]]` table of a configuration.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"

namespace glean::base {

// `values`: of the table, by their names in it; `origin`: of the table. Adds it, and entries "analysis[0].output", …, or what is wrong.
void add_analysis_table(const std::vector<Entry>& values, const std::string& origin, Configuration& configuration,
                        std::vector<std::string>& problems);

}   // namespace glean::base
