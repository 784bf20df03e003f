// SPDX-License-Identifier: BSD-3-Clause
//
// A condition on named numbers, as a user writes it: "dens.nan > 0 or max(temp) > 1e9 and mine.mass < 3". `and` binds more than `or`;
// "max(temp)" is the same as "temp.max".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glean::base {

class Condition {
 public:
  // Nothing: it is none.
  [[nodiscard]] static std::optional<Condition> parse(std::string_view text);

  // "dens.nan": a name and which number of it.
  struct Operand {
    std::string name, number;
    friend bool operator==(const Operand&, const Operand&) = default;
  };
  // Nothing: that number is not known.
  using Look = std::function<std::optional<double>(const Operand& operand)>;
  // Why it holds: the first number of the alternative that does. Nothing: it does not, or it is not known yet.
  struct Holds {
    Operand operand;
    double value = 0;
  };
  [[nodiscard]] std::optional<Holds> holds(const Look& look) const;
  [[nodiscard]] std::vector<Operand> operands() const;

 private:
  enum class Comparison { less, at_most, greater, at_least, equal, unequal };
  struct Term {
    Operand operand;
    Comparison comparison{};
    double value = 0;
  };
  [[nodiscard]] static std::optional<Term> parse_term(std::string_view text);
  [[nodiscard]] static bool compares(Comparison comparison, double left, double right);

  std::vector<std::vector<Term>> any_of_all_;   // one of these, of which all terms hold
};

}  // namespace glean::base
