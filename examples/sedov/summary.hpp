// SPDX-License-Identifier: BSD-3-Clause
//
// What a run says about itself at its end: the checks for people, everything for programs.
#pragma once

#include <string>
#include <vector>

#include "blast.hpp"
#include "sedov_taylor.hpp"
#include "writer.hpp"

namespace sedov {

struct FileRecord {
  std::string name;
  FileKind kind;
  std::size_t data_bytes;
  int step;
};

struct Summary {
  const Mesh& mesh;
  const std::vector<FileRecord>& files;
  const Checks& checks;
  const SedovTaylor& exact;
  int steps;
  double time;          // simulated
  double run_seconds;   // until all output was finished
  double epoch;
};

[[nodiscard]] std::string describe(const Checks& checks);

// One JSON object; `per_rank` is what Trace::gather() gave. It contains the exact solution at the end of the
// run, so that what draws it needs no second implementation.
[[nodiscard]] std::string summary_json(const Summary& summary, const std::string& per_rank);

}  // namespace sedov
