// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/request.hpp"

#include <algorithm>

#include "analysis/histogram.hpp"

namespace glean::analysis {

Request Request::of(const base::AnalysisSettings& settings) {
  const auto has = [&](base::Reduction reduction) {
    return std::find(settings.reductions.begin(), settings.reductions.end(), reduction) != settings.reductions.end();
  };
  Request request{has(base::Reduction::statistics), has(base::Reduction::histogram), {}, 0};
  if (!request.any()) return request;
  request.variables = settings.variables;
  request.most_bins = static_cast<std::uint64_t>(settings.bins);
  return request;
}

bool Request::wants(const std::string& variable) const {
  return any() && (variables.empty() || std::find(variables.begin(), variables.end(), variable) != variables.end());
}

void Request::encode(base::Encoder& out) const {
  out.byte(statistics ? 1 : 0);
  out.byte(histogram ? 1 : 0);
  out.number(most_bins);
  out.number(variables.size());
  for (const std::string& name : variables) out.text(name);
}

Request Request::decode(base::Decoder& in) {
  Request request;
  request.statistics = in.byte() != 0;
  request.histogram = in.byte() != 0;
  request.most_bins = in.number();
  if (request.histogram && (request.most_bins < 2 || request.most_bins > Histogram::bins_max)) in.reject("no histogram has so many bins");
  request.variables.resize(in.count(8, "variables to analyse"));
  for (std::string& name : request.variables) name = in.text();
  return request;
}

}  // namespace glean::analysis
