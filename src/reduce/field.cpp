// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/field.hpp"

#include <algorithm>
#include <cmath>

#include "reduce/rounding.hpp"

namespace glean::reduce {
namespace {

// NaN, too, is outside.
bool is_in(double value, const Change& change) { return value >= change.low && value <= change.high; }

void change(std::vector<double>& values, const Change& how, const Field& field, Loss& loss) {
  for (double& value : values) {
    if (value == field.fill) continue;
    switch (how.kind) {
      case Change::Kind::threshold:
        if (!is_in(value, how)) value = field.fill;
        break;
      case Change::Kind::single: {
        const auto single = static_cast<double>(static_cast<float>(value));
        loss.became_infinite += static_cast<std::uint64_t>(std::isinf(single) && !std::isinf(value));
        value = single;
        break;
      }
      case Change::Kind::bits: value = round_to_bits(value, how.bits, how.type); break;
    }
  }
}

mesh::Box box_of(const std::vector<int>& have, const std::vector<int>& want, const mesh::Box& box) {
  mesh::Box inner;
  for (const int dimension : have) {
    const auto at = static_cast<std::size_t>(std::find(want.begin(), want.end(), dimension) - want.begin());
    inner.start.push_back(box.start[at]);
    inner.count.push_back(box.count[at]);
  }
  return inner;
}

}   // namespace

bool Field::loses() const {
  return tolerance > 0 ||
         std::any_of(changes.begin(), changes.end(), [](const Change& one) { return one.kind != Change::Kind::threshold; });
}

std::vector<double> repeated(const std::vector<double>& values, const std::vector<int>& have, const std::vector<int>& want,
                             const mesh::Box& box) {
  if (have == want) return values;
  std::vector<std::uint64_t> strides(want.size(), 0);   // in `values`; 0: it is repeated
  std::uint64_t stride = 1;
  for (std::size_t d = want.size(); d-- > 0;) {
    if (std::find(have.begin(), have.end(), want[d]) == have.end()) continue;
    strides[d] = stride;
    stride *= box.count[d];
  }
  std::vector<double> all;
  all.reserve(box.elements());
  std::vector<std::uint64_t> index(want.size(), 0);
  std::uint64_t at = 0;
  for (std::uint64_t left = box.elements(); left > 0; --left) {
    all.push_back(values[at]);
    for (std::size_t d = want.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < box.count[d]) break;
      at -= strides[d] * box.count[d];
      index[d] = 0;
    }
  }
  return all;
}

std::vector<double> Evaluation::computed(const Field& field, const mesh::Box& box, Loss& loss) const {
  std::vector<double> result(box.elements());
  std::vector<std::vector<double>> inputs;
  std::vector<std::span<const double>> views;
  for (const Field& input : field.inputs) {
    Loss of_input;   // is that of the variable itself
    inputs.push_back(repeated(values(input, box_of(input.dimensions, field.dimensions, box), of_input), input.dimensions, field.dimensions,
                              box));
  }
  for (const std::vector<double>& input : inputs) views.emplace_back(input);
  field.formula->evaluate(views, result);
  for (std::size_t i = 0; i < result.size(); ++i) {
    bool has_all = true, are_finite = true;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      has_all = has_all && inputs[k][i] != field.inputs[k].fill;
      are_finite = are_finite && std::isfinite(inputs[k][i]);
    }
    if (!has_all) result[i] = field.fill;
    else if (are_finite && !std::isfinite(result[i])) ++loss.not_finite;
  }
  return result;
}

std::vector<double> Evaluation::values(const Field& field, const mesh::Box& box, Loss& loss) const {
  std::vector<double> result;
  if (field.source >= 0) {
    result.resize(box.elements());
    read_(field.source, box, result);
  } else {
    result = computed(field, box, loss);
  }
  if (field.changes.empty()) return result;
  const std::vector<double> exact = field.loses() ? result : std::vector<double>();
  for (const Change& one : field.changes) change(result, one, field, loss);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (result[i] == field.fill || !std::isfinite(result[i])) continue;
    loss.error_most = std::max(loss.error_most, std::abs(result[i] - exact[i]));
  }
  return result;
}

}   // namespace glean::reduce
