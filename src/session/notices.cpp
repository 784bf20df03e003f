// SPDX-License-Identifier: BSD-3-Clause
//
// What is said once in a job, though many ranks meet it; and once by a rank.
#include <algorithm>
#include <filesystem>

#include "base/log.hpp"
#include "session/core.hpp"

namespace glean::session {
namespace {

using Notice = Core::Notice;

constexpr Notice all_notices[] = {Notice::files_not_on_all_nodes, Notice::no_dropping_of_bytes, Notice::pnetcdf_past_mpi_io,
                                   Notice::no_stripes};

const char* text_of(Notice notice) {
  switch (notice) {
    case Notice::files_not_on_all_nodes: return "on several nodes, files pass through that are not opened on all of them together";
    case Notice::no_dropping_of_bytes:
      return "full = \"drop\" is for outputs with steps: when the pool is full, writes to raw outputs wait";
    case Notice::pnetcdf_past_mpi_io:
      return "PNETCDF_HINTS has nc_driver=gio: PnetCDF writes past MPI-IO, and what it writes is not captured";
    case Notice::no_stripes:
      return "striping_factor, striping_unit and start_iodevice have no effect: files are written where the file system has no stripes";
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

void Core::warn_once(const std::string& text, base::LogLevel level) {
  if (warned_.insert(text).second) base::log(level, "{}", text);
}

void Core::warn_in_place(const std::string& path, const std::string& why) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string kind = why + std::filesystem::absolute(path).parent_path().string();
  std::replace_if(kind.begin(), kind.end(), is_digit, '0');
  kind.erase(std::unique(kind.begin(), kind.end(), [](char a, char b) { return a == '0' && b == '0'; }), kind.end());
  if (!warned_.insert(kind).second) return;
  base::log(base::LogLevel::warning, "'{}' is written in place, and not replaced when it is complete: {}", path, why);
}

}  // namespace glean::session
