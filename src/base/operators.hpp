// SPDX-License-Identifier: BSD-3-Clause
//
// What the operators of an `[[analysis]]` table are called, and what they take: docs/analysis.md. They are run by src/reduce.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glean::base {

// Of one dimension: "x=2:9", "x=12", or "x@0.25:0.75" by its coordinates.
struct DimensionRange {
  std::string dimension;
  bool by_coordinates = false;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();   // coordinates, both included
  std::int64_t begin = 0;            // indices; negative ones count from the end
  std::optional<std::int64_t> end;   // one behind the last; none: all
  friend bool operator==(const DimensionRange&, const DimensionRange&) = default;
};

// Values of one variable: "dens=0.1:1".
struct ValueRange {
  std::string variable;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();   // both included
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

struct Operator {
  enum class Kind : std::uint8_t { region, slice, subsample, threshold, points, expression, precision, digits, bits, tolerance, deflate };
  Kind kind = Kind::region;
  std::string text;                         // as it was written
  std::vector<DimensionRange> dimensions;   // region, slice (`begin` or `low`), subsample (`begin`); of subsample none: all that hold cells
  std::vector<ValueRange> values;           // threshold, points
  std::vector<std::string> variables;       // precision, digits, bits, tolerance: empty: all in floating point
  std::string name, formula;                // of an expression
  double number = 0;                        // stride without a dimension, digits, bits, tolerance, level
  friend bool operator==(const Operator&, const Operator&) = default;
};

// "region x=2:9 y@0:0.5". Throws invalid_argument, with all that is wrong with it; what is inside of a formula is not looked at. Pure.
[[nodiscard]] Operator parse_operator(std::string_view text);
// Several, with ';' between them, as they stand in one text.
[[nodiscard]] std::vector<std::string> split_operators(std::string_view text);
// How operators are called, with an example of each.
[[nodiscard]] std::string operator_examples();

}   // namespace glean::base
