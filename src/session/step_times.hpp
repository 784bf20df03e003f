// SPDX-License-Identifier: BSD-3-Clause
//
// When each step of the program ended, and what it cost until then: for the report.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "report/report.hpp"

namespace glean::session {

class StepTimes {
 public:
  static constexpr std::size_t steps_max = 4096;   // the rest of a longer run is left out

  enum class End { step, file };   // of a file that has one step its closing belongs to the step
  // A step of `output` has ended, or the output was closed. From any thread. Local.
  void mark(const void* output, End end, const report::RankFigures& figures);

  // Of all ranks, on rank 0 of `comm`; nothing on the others. As many as the rank with the fewest has. Collective, two reductions.
  [[nodiscard]] std::vector<report::StepFigures> of_all(MPI_Comm comm, std::uint64_t begin_ns) const;

 private:
  struct Mark {
    const void* output = nullptr;
    End end = End::step;
    std::uint64_t at_ns = 0, blocked_ns = 0, captured_bytes = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Mark> marks_;
};

}  // namespace glean::session
