// SPDX-License-Identifier: BSD-3-Clause
#include "times.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nekcem {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double ratio(double numerator, double denominator) { return denominator > 0 ? numerator / denominator : 0; }

// The median over steps or outputs of the largest among the ranks that are meant.
template <class Meant>
double median_of_slowest(const std::vector<RankTimes>& ranks, std::vector<double> RankTimes::*times, Meant meant) {
  std::vector<double> slowest;
  for (const RankTimes& rank : ranks) {
    if (!meant(rank)) continue;
    slowest.resize(std::max(slowest.size(), (rank.*times).size()));
    for (std::size_t i = 0; i < (rank.*times).size(); ++i) slowest[i] = std::max(slowest[i], (rank.*times)[i]);
  }
  return median(slowest);
}

}  // namespace

Summary summarise(const std::vector<RankTimes>& ranks, double bytes) {
  Summary summary;
  const auto any = [](const RankTimes&) { return true; };
  const auto computes = [](const RankTimes& rank) { return rank.computes; };
  const auto works = [](const RankTimes& rank) { return rank.computes && !rank.writes_files; };
  summary.step_seconds = median_of_slowest(ranks, &RankTimes::steps, computes);
  summary.blocked_seconds = median_of_slowest(ranks, &RankTimes::blocked, computes);
  summary.perceived = ratio(bytes, summary.blocked_seconds);
  summary.worker_blocked_seconds = median_of_slowest(ranks, &RankTimes::blocked, works);
  double workers_share = 0;
  for (const RankTimes& rank : ranks) workers_share += works(rank) ? rank.share : 0;
  summary.worker_perceived = ratio(bytes * workers_share, summary.worker_blocked_seconds);
  summary.raw = ratio(bytes, median_of_slowest(ranks, &RankTimes::files, any));
  summary.steps_per_output = ratio(summary.blocked_seconds, summary.step_seconds);

  std::vector<double> writers, workers;
  for (const RankTimes& rank : ranks) {
    if (computes(rank)) (rank.writes_files ? writers : workers).push_back(mean(rank.computed));
  }
  if (!writers.empty() && !workers.empty()) {
    summary.writer_lag_seconds = mean(writers) - mean(workers);
    double squares = 0;
    for (const double writer : writers) squares += (writer - mean(writers)) * (writer - mean(writers));
    summary.writer_jitter_seconds = std::sqrt(squares / static_cast<double>(writers.size()));
  }
  return summary;
}

}  // namespace nekcem
