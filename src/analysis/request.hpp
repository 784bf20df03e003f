// SPDX-License-Identifier: BSD-3-Clause
//
// What is to be found out of each step of an output while it moves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/encoding.hpp"
#include "base/settings.hpp"

namespace glean::analysis {

// A program of the user's that looks at each step, in a process of its own, and what it may take.
struct Program {
  std::string file;          // Python if it ends in .py, else a plug-in
  std::string python;        // the command that runs it
  base::Bytes budget_bytes = 0;   // of the pool, that waits for it; 0: an eighth of it
  double wait_seconds = 0;   // of the drain, when that is used up
  double deadline_seconds = 0;
  base::Bytes memory_bytes = 0;   // 0: unlimited
  std::uint64_t restarts = 0;

  [[nodiscard]] bool is_python() const { return file.ends_with(".py"); }
  [[nodiscard]] std::string name() const { return base::name_of_program(file); }   // of its table
  friend bool operator==(const Program&, const Program&) = default;
};

struct Request {
  bool statistics = false, histogram = false;
  std::vector<std::string> variables;   // empty: all that have numbers
  std::uint64_t most_bins = 0;          // of a histogram
  std::vector<Program> programs{};
  base::TriggerSettings trigger{};      // what is done when a condition on a step holds

  std::string publish_when{};           // the file appears only if this holds for a step; empty: always

  // What the settings of an output ask for. A program that is there below the working directory gets its absolute path: what starts it
  // may be somewhere else. Asks the file system for that.
  [[nodiscard]] static Request of(const base::AnalysisSettings& settings);
  [[nodiscard]] bool any() const { return reduces() || !programs.empty(); }
  [[nodiscard]] bool reduces() const { return statistics || histogram || looks_for_statistics(); }
  // A condition speaks of a variable, and not only of what programs find.
  [[nodiscard]] bool looks_for_statistics() const;
  [[nodiscard]] bool has(const Program& program) const;
  [[nodiscard]] bool wants(const std::string& variable) const;

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static Request decode(base::Decoder& in);
  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace glean::analysis
