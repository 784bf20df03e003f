// SPDX-License-Identifier: BSD-3-Clause
#include "session/step_times.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace glean::session {

void StepTimes::mark(const void* output, End end, const report::RankFigures& figures) {
  const Mark mark{output, end, base::now_ns(), figures.blocked_ns, figures.captured_bytes};
  const std::scoped_lock lock(mutex_);
  const bool is_known = !marks_.empty() && marks_.back().output == output && marks_.back().end == End::step && end == End::file;
  if (is_known) marks_.back() = mark;
  else if (marks_.size() < steps_max) marks_.push_back(mark);
}

std::vector<report::StepFigures> StepTimes::of_all(MPI_Comm comm, std::uint64_t begin_ns) const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t count = marks_.size();
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_UINT64_T, MPI_MIN, comm);
  if (count == 0) return {};   // on all ranks
  std::vector<std::uint64_t> blocked(count), bytes(count), most(count), all(count);
  for (std::size_t i = 0; i < count; ++i) {
    blocked[i] = marks_[i].blocked_ns - (i > 0 ? marks_[i - 1].blocked_ns : 0);
    bytes[i] = marks_[i].captured_bytes - (i > 0 ? marks_[i - 1].captured_bytes : 0);
  }
  MPI_Reduce(blocked.data(), most.data(), static_cast<int>(count), MPI_UINT64_T, MPI_MAX, 0, comm);
  MPI_Reduce(bytes.data(), all.data(), static_cast<int>(count), MPI_UINT64_T, MPI_SUM, 0, comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::vector<report::StepFigures> steps;
  for (std::size_t i = 0; rank == 0 && i < count; ++i) {
    steps.push_back({base::seconds(marks_[i].at_ns - std::min(begin_ns, marks_[i].at_ns)), base::seconds(most[i]), all[i]});
  }
  return steps;
}

}  // namespace glean::session
