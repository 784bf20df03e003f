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

// Blocks without children, in which the gas was computed.
struct BlocksUsed {
  int fewest = 0, most = 0, steps = 0;
  double sum = 0;   // over the steps
  // Once in each step. Local.
  void count(const Mesh& mesh);
  [[nodiscard]] double mean() const { return steps > 0 ? sum / steps : 0; }
};
// That a uniform mesh of the finest level has.
[[nodiscard]] double uniform_blocks(const Mesh& mesh);

struct Summary {
  const Mesh& mesh;
  const std::vector<FileRecord>& files;
  const Checks& checks;
  const SedovTaylor& exact;
  const BlocksUsed& used;
  int steps;
  double time;          // simulated
  double run_seconds;   // until all output was finished
  double epoch;
};

[[nodiscard]] std::string describe(const Checks& checks);
[[nodiscard]] std::string describe(const BlocksUsed& used, const Mesh& mesh);

// One JSON object; `per_rank` is what Trace::gather() gave. It contains the exact solution at the end of the
// run, so that what draws it needs no second implementation.
[[nodiscard]] std::string summary_json(const Summary& summary, const std::string& per_rank);

}  // namespace sedov
