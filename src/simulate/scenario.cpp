// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/scenario.hpp"

#include <fmt/format.h>

namespace glean::simulate {

std::vector<std::string> problems_of(const Scenario& scenario) {
  std::vector<std::string> problems;
  if (scenario.steps < 1) problems.push_back(fmt::format("{} steps: there is at least one", scenario.steps));
  constexpr int steps_most = 10'000;   // one is as the other long before
  if (scenario.steps > steps_most) problems.push_back(fmt::format("{} steps, of {} at most", scenario.steps, steps_most));
  if (!(scenario.compute_seconds >= 0)) problems.emplace_back("computing cannot take less than no time");
  if (scenario.files < 0) problems.push_back(fmt::format("{} files", scenario.files));
  if (scenario.files > scenario.ranks()) {
    problems.push_back(fmt::format("{} files of {} ranks: there is at most one for each rank", scenario.files, scenario.ranks()));
  }
  if (scenario.ranks_per_file < 1) {
    problems.push_back(fmt::format("{} ranks for a file: there is at least one", scenario.ranks_per_file));
  }
  if (scenario.stagers < 0) problems.push_back(fmt::format("{} stagers", scenario.stagers));
  if (const auto nodes = scenario.machine.staging.nodes; scenario.stagers > nodes && nodes > 0) {
    problems.push_back(fmt::format("{} stagers: {} has {} staging nodes", scenario.stagers, scenario.machine.name, nodes));
  }
  return problems;
}

const std::vector<Workload>& workloads() {
  using base::KiB;
  using base::MiB;
  using plan::Pattern;
  static const std::vector<Workload> all = {
      {"flash-checkpoint", "FLASH: 96 GiB of 32,768 ranks (seed 000, 6.1); 24 variables, as FLASH-IO has", Pattern::flash, 24, 3 * MiB},
      {"flash-plot", "FLASH: 16 GiB of 32,768 ranks (seed 000, 6.1); 4 variables, as FLASH-IO has", Pattern::flash, 4, MiB / 2},
      {"s3d-restart", "S3D: 22 x 36 x 22 points of each rank in 4 arrays with 16 components (seed 000, 6.2)", Pattern::s3d, 4,
       22 * 36 * 22 * 16 * 8},
      {"nekcem", "NekCEM: 52 GB of 32,768 ranks in 4 fields (seed 001, 4.2)", Pattern::flash, 4, 52'000'000'000 / 32768},
  };
  return all;
}

}  // namespace glean::simulate
