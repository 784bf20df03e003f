// SPDX-License-Identifier: BSD-3-Clause
#include "cli/checked_configuration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#if GLEAN_WITH_CONVERT
#include "reduce/plan.hpp"
#endif

namespace glean::cli {

base::Configuration checked_configuration() {
  base::Configuration configuration = base::load_configuration({}, base::process_environment());
#if GLEAN_WITH_CONVERT
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < configuration.settings.analyses.size(); ++i) {
    const base::AnalysisTable& table = configuration.settings.analyses[i];
    for (const std::string& flaw : reduce::defects_of({table.variables, table.run, table.format == base::CopyFormat::hdf5})) {
      wrong.push_back(fmt::format("analysis[{}].run: {}", i, flaw));
    }
  }
  if (!wrong.empty()) {
    throw base::Error(base::Errc::invalid_config, fmt::format("configuration: {}", fmt::join(wrong, "\n  ")),
                      "docs/analysis.md has examples");
  }
#endif
  return configuration;
}

}  // namespace glean::cli
