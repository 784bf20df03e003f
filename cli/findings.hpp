// SPDX-License-Identifier: BSD-3-Clause
//
// What `glean doctor` found: one line each.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "topology/node.hpp"

namespace glean::cli {

enum class Verdict { ok, warn, fail };

struct Finding {
  std::string subject;   // "shared memory"
  Verdict verdict = Verdict::ok;
  std::string text;      // what there is
  std::string advice;    // what to do about it; empty when it is fine
};

using Findings = std::vector<Finding>;

[[nodiscard]] Verdict worst_of(const Findings& findings);
[[nodiscard]] std::string to_text(const Findings& findings);
[[nodiscard]] std::string to_json(const Findings& findings);

// Each looks at one thing and adds what it found. None of them throws because of what it finds. Local, blocks.

// The libraries, and the thread level that MPI gives, found out by a child process, so that an MPI that cannot start
// does not take the doctor with it.
void find_mpi(Findings& findings);
void find_pnetcdf(Findings& findings);
void find_kernel(Findings& findings);
void find_node(Findings& findings, const topology::Node& node, const base::Settings& settings);
// When the job ends, where this runs in one or one is set.
void find_job_end(Findings& findings, const base::Settings& settings);
// The plan of a session of `ranks` ranks on this node.
void find_plan(Findings& findings, const topology::Node& node, const base::Settings& settings, int ranks);
// Pools in shared memory: whose job runs, and what killed jobs have left.
void find_pools(Findings& findings);
void find_storage(Findings& findings, const std::string& directory, const base::Settings& settings);

}  // namespace glean::cli
