// SPDX-License-Identifier: BSD-3-Clause
#include "cli/verification.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace glean::cli {

std::string place_of(const store::Difference& difference, const store::Sidecar& sidecar) {
  try {
    if (sidecar.layout.empty()) return {};
    const auto layout = store::FileLayout::decode(sidecar.layout);
    const std::string first = store::place_in(layout, difference.extent.begin);
    const std::string last = store::place_in(layout, difference.extent.end - 1);
    if (first == last || last.empty()) return first;
    return first.empty() ? last : fmt::format("from {} to {}", first, last);
  } catch (const base::Error&) {
    return {};   // of another version
  }
}

std::vector<std::string> lines_of(const store::Verification& verification, const store::Sidecar& sidecar) {
  std::vector<std::string> lines;
  if (verification.found_bytes != verification.expected_bytes) {
    lines.push_back(fmt::format("it has {} bytes instead of {}", verification.found_bytes, verification.expected_bytes));
  }
  for (const store::Difference& difference : verification.differences) {
    const auto& [kind, extent, sum] = difference;
    std::string line = fmt::format("bytes {} to {}", extent.begin, extent.end - 1);
    line += kind == store::Difference::Kind::changed ? " differ" : " were never written, and are not zero";
    if (sum.runs > 1) line += fmt::format(" ({} runs of {} bytes, every {})", sum.runs, sum.length, sum.stride);
    const std::string place = place_of(difference, sidecar);
    lines.push_back(place.empty() ? line : line + ": " + place);
  }
  return lines;
}

}  // namespace glean::cli
