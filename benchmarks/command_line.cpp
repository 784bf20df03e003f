// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

namespace glean::benchmarks {

CommandLine::CommandLine(const std::string& what, BenchmarkOptions& options) : CLI::App(what) {
  add_option("--directory", options.directory, "where the files go, if there are any");
  add_option("--json", options.json, "write the result here, not to standard output");
  add_option("--repetitions", options.repetitions)->check(CLI::PositiveNumber);
  add_flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
}

CommandLine::~CommandLine() = default;

int CommandLine::run(int argc, char** argv, const std::function<int(const Ranks&)>& body) {
  CLI11_PARSE(*this, argc, argv);
  const Ranks ranks(argc, argv);
  return run_or_abort([&] { return body(ranks); });
}

}  // namespace glean::benchmarks
