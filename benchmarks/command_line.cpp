// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <CLI/CLI.hpp>

namespace glean::benchmarks {

CommandLine::CommandLine(const std::string& what) : app_(std::make_unique<CLI::App>(what)) {}
CommandLine::~CommandLine() = default;

template <class Value>
CommandLine& CommandLine::option(const std::string& name, Value& value, const std::string& help) {
  app_->add_option(name, value, help);
  return *this;
}

template <class Number>
CommandLine& CommandLine::positive(const std::string& name, Number& value, const std::string& help) {
  app_->add_option(name, value, help)->check(CLI::PositiveNumber);
  return *this;
}

template CommandLine& CommandLine::option(const std::string&, std::string&, const std::string&);
template CommandLine& CommandLine::option(const std::string&, int&, const std::string&);
template CommandLine& CommandLine::option(const std::string&, std::uint64_t&, const std::string&);
template CommandLine& CommandLine::option(const std::string&, double&, const std::string&);
template CommandLine& CommandLine::positive(const std::string&, int&, const std::string&);
template CommandLine& CommandLine::positive(const std::string&, std::uint64_t&, const std::string&);

CommandLine& CommandLine::one_of(const std::vector<std::string>& values, const std::string& name, std::string& value,
                                 const std::string& help) {
  app_->add_option(name, value, help)->check(CLI::IsMember(values));
  return *this;
}

CommandLine& CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
  return *this;
}

CommandLine& CommandLine::needs(const std::string& name, const std::string& other) {
  app_->get_option(name)->needs(app_->get_option(other));
  return *this;
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
  return std::nullopt;
}

}  // namespace glean::benchmarks
