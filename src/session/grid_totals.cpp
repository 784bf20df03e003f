// SPDX-License-Identifier: BSD-3-Clause
#include "session/grid_totals.hpp"

#include "session/agreement.hpp"

namespace glean::session {

Totals together(Core& core, const std::string& path, const Contribution& mine) {
  InCall in_call(core.collective(), Call::end_definitions, path);
  Totals totals{{}, std::vector<std::uint64_t>(mine.counts.size()), std::vector<double>(mine.least.size())};
  if (!mine.counts.empty()) {
    totals.before = sums_before(core.comm(), mine.counts);
    reduce_all(core.comm(), mine.counts.data(), totals.all.data(), static_cast<int>(mine.counts.size()), MPI_UINT64_T, MPI_SUM);
  }
  if (!mine.least.empty()) {
    reduce_all(core.comm(), mine.least.data(), totals.least.data(), static_cast<int>(mine.least.size()), MPI_DOUBLE, MPI_MIN);
  }
  return totals;
}

}  // namespace glean::session
