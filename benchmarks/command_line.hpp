// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a benchmark: the options that all of them have, and those that it adds.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "measure.hpp"

namespace glean::benchmarks {

struct BenchmarkOptions {
  std::string directory = "bench-files";
  std::string json;
  int repetitions = 5;
  bool quick = false;
};

class CommandLine : public CLI::App {
 public:
  // `what` it measures, for --help. `options` must live as long, with the values that hold unless the user gives others.
  CommandLine(const std::string& what, BenchmarkOptions& options);
  ~CommandLine() override;

  // Reads the command line and runs `body(ranks)`, which returns the exit status. Returns that.
  int run(int argc, char** argv, const std::function<int(const Ranks&)>& body);
};

}  // namespace glean::benchmarks
