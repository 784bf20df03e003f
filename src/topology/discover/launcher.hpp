// SPDX-License-Identifier: BSD-3-Clause
//
// What the launcher of a job tells its processes: on which nodes it runs, and how many ranks are on each.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "topology/machine.hpp"

namespace glean::topology {

struct Job {
  std::string launcher{};               // "Slurm", "Open MPI", …; empty: there is none
  std::string id{};
  std::vector<std::string> hosts{};     // in the order of the launcher; empty: it does not say
  std::vector<int> ranks{};             // of each host, as many as there are hosts
  Placement::Order order = Placement::Order::block;
  std::size_t here = 0;                 // index of the host of this process
  std::vector<std::string> notes{};     // what could not be understood, a line each
  friend bool operator==(const Job&, const Job&) = default;
};

// The job, by the variables of Slurm, Open MPI and other launchers with a PMI. Where no names of hosts are known, they are those of
// `host_name` and empty ones. Never throws because of what it finds. Local.
[[nodiscard]] Job job_from(const base::Environment& environment, const std::string& host_name);

// The variables of this process that a launcher sets: SLURM_*, OMPI_*, PMI_*, PMIX_*, MPI_*. Local.
[[nodiscard]] base::Environment launcher_environment();

// The ranks of a job whose i-th host is nodes[i]: a few numbers where it is regular, otherwise a list.
[[nodiscard]] Placement placement_of(const Job& job, const std::vector<NodeId>& nodes);

}  // namespace glean::topology
