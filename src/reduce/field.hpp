// SPDX-License-Identifier: BSD-3-Clause
//
// A variable of a result: where its values come from, what changes them, and its values in a box.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/type.hpp"
#include "reduce/formula.hpp"
#include "reduce/selection.hpp"

namespace glean::reduce {

// What changes values, one behind the other. Fill values stay what they are.
struct Change {
  enum class Kind : std::uint8_t { threshold, single, bits };
  Kind kind = Kind::threshold;
  double low = 0, high = 0;   // threshold: what is outside becomes the fill value
  int bits = 0;
  mesh::Type type = mesh::Type::float64;   // that the values have where it stands
};

struct Field {
  std::string name;
  mesh::Type type = mesh::Type::float64;
  std::vector<int> dimensions;   // of the source, slowest first; the result has those that are not dropped
  int source = -1;               // a variable of the source; -1: it is computed
  std::shared_ptr<const Formula> formula;
  std::vector<Field> inputs;   // of the formula, as its names: what they were where it stands
  std::vector<Change> changes;
  double fill = 0;                          // the value of an element that has none
  bool names_fill = false;                  // the result has to say which value that is
  double tolerance = 0;                     // of compression; 0: none
  std::optional<base::ValueRange> points;   // the result lists these values and their places

  [[nodiscard]] bool is_as_in_source() const { return source >= 0 && changes.empty(); }
  // Values are not exactly those of the source, or of the formula.
  [[nodiscard]] bool loses() const;
};

// What became of values.
struct Loss {
  double error_most = 0;               // of finite values
  std::uint64_t became_infinite = 0;   // by lower precision
  std::uint64_t not_finite = 0;        // by the formula
};

class Evaluation {
 public:
  // Reads elements of a variable of the source as double; the box counts indices of the picks, of each dimension of the variable.
  using Read = std::function<void(int variable, const mesh::Box& box, std::span<double> into)>;
  explicit Evaluation(Read read) : read_(std::move(read)) {}

  // Values of `field` in a box of indices of its picks, row by row. `loss` grows.
  [[nodiscard]] std::vector<double> values(const Field& field, const mesh::Box& box, Loss& loss) const;

 private:
  [[nodiscard]] std::vector<double> computed(const Field& field, const mesh::Box& box, Loss& loss) const;

  Read read_;
};

// Values of a box of some dimensions as they are repeated along others: `have` are in order among `want`. Pure.
[[nodiscard]] std::vector<double> repeated(const std::vector<double>& values, const std::vector<int>& have, const std::vector<int>& want,
                                           const mesh::Box& box);

}   // namespace glean::reduce
