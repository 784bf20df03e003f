// SPDX-License-Identifier: BSD-3-Clause
//
// What operators make of the definitions of a file: those of the result, and its fields.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/operators.hpp"
#include "mesh/definitions.hpp"
#include "reduce/field.hpp"
#include "reduce/selection.hpp"

namespace glean::reduce {

struct Request {
  std::vector<std::string> variables;   // of the result; empty: all, and what is computed
  std::vector<std::string> operators;
  // May compress. Otherwise tolerance and deflate are refused.
  bool can_compress = false;
};

// The file that is reduced.
struct Subject {
  const mesh::Definitions& definitions;
  std::uint64_t records = 0;
  std::vector<int> mesh;                                          // variables that come along
  std::vector<int> of_blocks;                                     // dimensions that hold no cells: no stride without a name takes of them
  std::function<std::vector<double>(int variable)> coordinates;   // all values of a variable of one dimension
};

// Of a value without a name for it: NetCDF's default.
[[nodiscard]] double fill_of(const mesh::Definitions& definitions, int variable);

struct Plan {
  std::vector<Pick> picks;     // of the dimensions of the source
  std::vector<Field> fields;   // of the result, in its order
  std::uint64_t records = 0;   // of the result
  int deflate = 0;             // level; 0: none
  std::string text;            // of all operators

  // Of a field along its own dimensions, dropped ones with 1.
  [[nodiscard]] mesh::Shape shape_of(const Field& field) const;
  [[nodiscard]] bool compresses() const;
};

// A variable of the result. Of a list of points there are two.
struct ResultVariable {
  std::size_t field = 0;
  enum class Part : std::uint8_t { values, places } part = Part::values;
};

struct Result {
  mesh::Definitions definitions;
  std::vector<ResultVariable> variables;
};

// The definitions of the result. `points`: of each field, how many are listed. `losses`: of each field, as it is told in attributes; the
// length of no attribute depends on it.
[[nodiscard]] Result define(const Plan& plan, const mesh::Definitions& source, const std::vector<std::uint64_t>& points,
                            const std::vector<Loss>& losses);

// Throws invalid_argument with all that is wrong: operators, formulas, and names that the file has not.
[[nodiscard]] Plan make_plan(const Subject& subject, const Request& request);

// The same without a file, of what can be told then. Nothing where nothing is wrong.
[[nodiscard]] std::vector<std::string> defects_of(const Request& request);

}   // namespace glean::reduce
