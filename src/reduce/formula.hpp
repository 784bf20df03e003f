// SPDX-License-Identifier: BSD-3-Clause
//
// An expression over variables, as a function of numbers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace glean::reduce {

// By muParser: + - * / ^, comparisons, && || ?:, sqrt, abs, exp, ln, log10, sin, …, min, max, sum, avg, and _pi and _e. Division by
// zero and roots of negative numbers have the results that the processor gives, as NumPy.
class Formula {
 public:
  // Throws invalid_argument with the place where it is no expression, and unsupported where this was built without muParser.
  explicit Formula(const std::string& text);
  ~Formula();
  Formula(Formula&&) noexcept;

  [[nodiscard]] const std::string& text() const { return text_; }
  // The names in it, each once.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // Where a name stands in the text, from 1 on.
  [[nodiscard]] std::size_t place_of(const std::string& name) const;
  // `values`: as `names`, each as long as `into`. Of one thread.
  void evaluate(const std::vector<std::span<const double>>& values, std::span<double> into) const;

 private:
  struct Parsed;
  std::string text_;
  std::vector<std::string> names_;
  std::unique_ptr<Parsed> parsed_;
};

}   // namespace glean::reduce
