// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/formula.hpp"

#include <fmt/format.h>

#include <cctype>

#include "base/error.hpp"
#if GLEAN_HAVE_MUPARSER
#include <muParser.h>
#endif

namespace glean::reduce {

#if GLEAN_HAVE_MUPARSER

struct Formula::Parsed {
  mu::Parser parser;
  std::vector<double> values;   // of the names, at which the parser looks
};

namespace {

[[noreturn]] void refuse(const std::string& text, const mu::Parser::exception_type& error) {
  std::string why = error.GetMsg();
  while (!why.empty() && (why.back() == '.' || why.back() == '\n')) why.pop_back();
  const int place = error.GetPos();
  throw base::Error(base::Errc::invalid_argument,
                    place < 0 ? fmt::format("'{}': {}", text, why) : fmt::format("'{}', character {}: {}", text, place + 1, why));
}

}   // namespace

Formula::Formula(const std::string& text) : text_(text), parsed_(std::make_unique<Parsed>()) {
  try {
    mu::Parser& parser = parsed_->parser;
    parser.SetExpr(text);
    for (const auto& [name, value] : parser.GetUsedVar()) names_.push_back(name);
    parsed_->values.assign(names_.size(), 1.0);
    for (std::size_t i = 0; i < names_.size(); ++i) parser.DefineVar(names_[i], &parsed_->values[i]);
    static_cast<void>(parser.Eval());   // what only shows when all names are known
  } catch (const mu::Parser::exception_type& error) {
    refuse(text, error);
  }
}

void Formula::evaluate(const std::vector<std::span<const double>>& values, std::span<double> into) const {
  try {
    for (std::size_t at = 0; at < into.size(); ++at) {
      for (std::size_t i = 0; i < values.size(); ++i) parsed_->values[i] = values[i][at];
      into[at] = parsed_->parser.Eval();
    }
  } catch (const mu::Parser::exception_type& error) {
    refuse(text_, error);
  }
}

#else

struct Formula::Parsed {};

Formula::Formula(const std::string& text) : text_(text) {
  throw base::Error(base::Errc::unsupported, "this glean cannot compute expressions: it was built without muParser",
                    "build it where muParser is (Debian: libmuparser-dev)");
}

void Formula::evaluate(const std::vector<std::span<const double>>&, std::span<double>) const {}

#endif

Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;

std::size_t Formula::place_of(const std::string& name) const {
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  for (std::size_t at = 0; (at = text_.find(name, at)) != text_.npos; ++at) {
    const bool begins = at == 0 || !is_of_name(text_[at - 1]);
    const bool ends = at + name.size() == text_.size() || !is_of_name(text_[at + name.size()]);
    if (begins && ends) return at + 1;
  }
  return 0;
}

}   // namespace glean::reduce
