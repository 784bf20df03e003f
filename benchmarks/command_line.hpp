// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a benchmark. What parses it takes seconds to compile, and is compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace glean::benchmarks {

class CommandLine {
 public:
  explicit CommandLine(const std::string& what);
  ~CommandLine();

  // `--name VALUE`, which goes to `value`. Of types std::string, int, std::uint64_t and double.
  template <class Value>
  CommandLine& option(const std::string& name, Value& value, const std::string& help = "");
  template <class Number>
  CommandLine& positive(const std::string& name, Number& value, const std::string& help = "");
  CommandLine& one_of(const std::vector<std::string>& values, const std::string& name, std::string& value, const std::string& help = "");
  CommandLine& flag(const std::string& name, bool& value, const std::string& help);
  CommandLine& needs(const std::string& name, const std::string& other);

  // What the program returns if it has nothing to do: it was asked for help, or with something wrong, which is said.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace glean::benchmarks
