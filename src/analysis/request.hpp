// SPDX-License-Identifier: BSD-3-Clause
//
// What is to be found out of each step of an output while it moves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/encoding.hpp"
#include "base/settings.hpp"

namespace glean::analysis {

struct Request {
  bool statistics = false, histogram = false;
  std::vector<std::string> variables;   // empty: all that have numbers
  std::uint64_t most_bins = 0;          // of a histogram

  // What the settings of an output ask for.
  [[nodiscard]] static Request of(const base::AnalysisSettings& settings);
  [[nodiscard]] bool any() const { return statistics || histogram; }
  [[nodiscard]] bool wants(const std::string& variable) const;

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static Request decode(base::Decoder& in);
  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace glean::analysis
