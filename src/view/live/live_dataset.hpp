// SPDX-License-Identifier: BSD-3-Clause
//
// A step that is in a pool as a dataset: what ranks have put, piece by piece.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "drain/consumers.hpp"
#include "view/dataset.hpp"

namespace glean::view {

// Values of variables that are the same in all steps, from steps before: by variable.
using FixedValues = std::map<int, std::vector<double>>;

class LiveDataset : public Dataset {
 public:
  // The step's bytes must stay where they are for as long as it is read. Of a step that was left out there are no values, and its
  // variables are known. A step of which nothing is known has no variables.
  LiveDataset(drain::CompleteStep step, std::shared_ptr<const FixedValues> fixed);

  [[nodiscard]] const std::vector<DatasetVariable>& variables() const override { return variables_; }
  [[nodiscard]] const std::vector<mesh::Attribute>& attributes() const override;
  // What no rank of this node has put is NaN.
  void read(int variable, std::uint64_t record, const mesh::Box& box, double* values) const override;
  [[nodiscard]] const drain::CompleteStep& step() const { return step_; }
  // Of an output of bytes: records of the file. 1 else.
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // Variables that are the same in all steps, and are put in this one.
  [[nodiscard]] std::vector<int> fixed_here() const;

 private:
  void read_piece(const drain::StepPiece& piece, std::uint64_t record, const mesh::Shape& shape, const mesh::Box& box,
                  double* values) const;

  drain::CompleteStep step_;
  std::shared_ptr<const FixedValues> fixed_;
  std::vector<DatasetVariable> variables_;
  std::map<std::uint32_t, std::vector<const drain::StepPiece*>> pieces_;   // by variable, in the order in which they take effect
  std::uint64_t records_ = 1;
};

}  // namespace glean::view
