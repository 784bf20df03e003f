// SPDX-License-Identifier: BSD-3-Clause
//
// What messages between the processes of a job take, measured with MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/machine_file.hpp"
#include "calibrate/team.hpp"
#include "service/recovery.hpp"

namespace glean::cli {

// Processes that a launcher has started as a Team. The Companions live as long.
[[nodiscard]] std::unique_ptr<calibrate::Team> team_of(service::Companions& companions);

// Fills in what the network gives: link rate and message time between the first processes of two hosts, the rate at which process 0
// takes in the messages of all others. On one host the network is this node's own interface. `host_of`: of each process, numbered in the
// order in which hosts come. Collective over the job; figures are known on process 0.
void measure_network(calibrate::Team& team, const std::vector<int>& host_of, double seconds, calibrate::Calibration& calibration);

}  // namespace glean::cli
