// SPDX-License-Identifier: BSD-3-Clause
//
// What a run has measured, and what papers on rbIO report of it: blocked time, perceived and raw throughput, jitter.
#pragma once

#include <string>
#include <vector>

namespace nekcem {

// Seconds of one rank.
struct RankTimes {
  bool writes_files = false, computes = true;
  double share = 0;               // of the bytes of an output
  std::vector<double> steps = {};      // each, from begin to end
  std::vector<double> computed = {};   // of them, without the time in which it waited for other ranks
  std::vector<double> blocked = {};    // in each output
  std::vector<double> files = {};      // in each output, from before its file was opened until after it was closed; 0 if it wrote none
};

struct Summary {
  double step_seconds = 0;      // t_comp: the median over steps of the slowest rank's
  double blocked_seconds = 0;   // the median over outputs of that rank's among those that compute which was blocked longest
  double perceived = 0;         // bytes per second of blocked time
  // The same of ranks that send to others and write nothing, and of their bytes: what the paper on threaded rbIO calls perceived. 0 if
  // there are no such ranks.
  double worker_blocked_seconds = 0, worker_perceived = 0;
  double raw = 0;               // bytes per second of the time that the slowest file of an output took, its median
  double steps_per_output = 0;  // X: blocked_seconds / step_seconds
  // What the steps of ranks that compute and write take longer than those of ranks that only compute, without waiting: as the mean,
  // and how much it differs between them (standard deviation). 0 if there are no such ranks.
  double writer_lag_seconds = 0, writer_jitter_seconds = 0;
};

// `bytes` of one output.
[[nodiscard]] Summary summarise(const std::vector<RankTimes>& ranks, double bytes);

}  // namespace nekcem
