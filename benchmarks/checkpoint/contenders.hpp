// SPDX-License-Identifier: BSD-3-Clause
//
// The ways of writing a workload that are compared.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/workload.hpp"
#include "glean/glean.hpp"
#include "measure.hpp"

namespace glean::benchmarks {

enum class Contender { pnetcdf_blocking, pnetcdf_nonblocking, glean };
inline constexpr Contender contenders[] = {Contender::pnetcdf_blocking, Contender::pnetcdf_nonblocking,
                                           Contender::glean};
[[nodiscard]] const char* name_of(Contender contender);

// Both files can be read and are the same.
[[nodiscard]] bool same_bytes(const std::string& one, const std::string& other);

// What one run took; the same on all ranks.
struct Outcome {
  double blocked_seconds = 0;       // in library calls, slowest rank; from the first open to the last close
  double durable_seconds = 0;       // from the first open until everything is fsynced
  double cpu_seconds = 0;           // all ranks, all threads, in that time
  double blocked_cpu_seconds = 0;   // the part until the slowest rank had closed its last file
};

// One file as one output of `session`. Collective over its application_comm().
void write_with_glean(glean::Session& session, const File& file, const std::string& path);

// Writes all files of `workload` into `directory`, which has none of them. Collective.
[[nodiscard]] Outcome write(Contender contender, const Ranks& ranks, glean::Session& session,
                            const Workload& workload, const std::string& directory);

}  // namespace glean::benchmarks
