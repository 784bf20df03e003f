// SPDX-License-Identifier: BSD-3-Clause
//
// What was measured, as a machine file.
#pragma once

#include <string>

#include "calibrate/figure.hpp"
#include "topology/machine.hpp"

namespace glean::calibrate {

struct Calibration {
  topology::Machine discovered;          // sizes and counts; its rates are put in here
  int hosts = 1, processes = 1;
  Figure copy_rate, memory_rate, receive_rate, link_rate, message_time;
  Figure one_writer, node_writers, all_writers, page_cache;
  Figure request_time, create_time, directory_create_time, lock_time;
};

// The file system gets the best of what one, several and all writers got; several hosts also say what one of them gets out of its way.
[[nodiscard]] topology::Machine machine_of(const Calibration& calibration);

// TOML, as docs/formats/machine.md describes it, with the spread of each figure behind it, and in front what was not measured and why.
// `when`: a date.
[[nodiscard]] std::string to_toml(const Calibration& calibration, const std::string& when);

}  // namespace glean::calibrate
