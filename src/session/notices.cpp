// SPDX-License-Identifier: BSD-3-Clause
//
// What is said once in a job, though many ranks meet it.
#include "base/log.hpp"
#include "session/core.hpp"

namespace glean::session {
namespace {

using Notice = Core::Notice;

constexpr Notice all_notices[] = {Notice::files_not_on_all_nodes, Notice::no_dropping_of_bytes, Notice::pnetcdf_past_mpi_io};

const char* text_of(Notice notice) {
  switch (notice) {
    case Notice::files_not_on_all_nodes: return "on several nodes, files pass through that are not opened on all of them together";
    case Notice::no_dropping_of_bytes:
      return "full = \"drop\" is for outputs with steps: when the pool is full, writes to raw outputs wait";
    case Notice::pnetcdf_past_mpi_io:
      return "PNETCDF_HINTS has nc_driver=gio: PnetCDF writes past MPI-IO, and what it writes is not captured";
  }
  return "";
}

bool has(std::uint64_t notices, Notice one) { return (notices & static_cast<std::uint64_t>(one)) != 0; }

}  // namespace

void Core::notice(Notice what) {
  const bool is_known = has(figures_.notices, what);
  figures_.notices |= static_cast<std::uint64_t>(what);
  if (rank_ == 0 && !is_known) base::log(base::LogLevel::warning, "{}", text_of(what));
}

// On rank 0, which has said its own already.
void Core::tell_notices(const std::vector<report::RankFigures>& ranks) {
  std::uint64_t all = 0;
  for (const auto& rank : ranks) all |= rank.notices;
  for (const Notice one : all_notices) {
    if (has(all, one)) notice(one);
  }
}

}  // namespace glean::session
