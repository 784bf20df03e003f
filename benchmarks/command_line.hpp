// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a benchmark: the options that all of them have, and those that it adds.
#pragma once

#include <CLI/CLI.hpp>
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
  CommandLine(const std::string& what, BenchmarkOptions& options) : CLI::App(what) {
    add_option("--directory", options.directory, "where the files go, if there are any");
    add_option("--json", options.json, "write the result here, not to standard output");
    add_option("--repetitions", options.repetitions)->check(CLI::PositiveNumber);
    add_flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  }

  // Reads the command line and runs `body(ranks)`, which returns the exit status. Returns that.
  template <class Body>
  int run(int argc, char** argv, Body body) {
    CLI11_PARSE(*this, argc, argv);
    const Ranks ranks(argc, argv);
    return run_or_abort([&] { return body(ranks); });
  }
};

}  // namespace glean::benchmarks
