// SPDX-License-Identifier: BSD-3-Clause
#include "view/live/live_dataset.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace glean::view {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
const std::vector<mesh::Attribute> no_attributes;

// Elements in the other byte order, one after the other.
std::vector<std::byte> swapped(const std::byte* from, std::size_t count, std::size_t element_bytes) {
  std::vector<std::byte> values(from, from + count * element_bytes);
  for (std::size_t i = 0; i < count; ++i) std::reverse(values.data() + i * element_bytes, values.data() + (i + 1) * element_bytes);
  return values;
}

}  // namespace

LiveDataset::LiveDataset(drain::CompleteStep step, std::shared_ptr<const FixedValues> fixed)
    : step_(std::move(step)), fixed_(std::move(fixed)) {
  if (!step_.definitions) return;
  for (const drain::StepPiece& piece : step_.pieces) {
    if (piece.variable >= step_.definitions->variables.size()) continue;
    pieces_[piece.variable].push_back(&piece);
    if (piece.place) records_ = std::max(records_, piece.put.first_record + piece.put.records);
  }
  for (std::size_t v = 0; v < step_.definitions->variables.size(); ++v) {
    const mesh::VariableDefinition& defined = step_.definitions->variables[v];
    const bool per_step = step_.definitions->per_step(static_cast<int>(v));
    DatasetVariable variable{defined.name, defined.external, per_step, step_.definitions->shape(static_cast<int>(v)), records_, {}};
    for (const int dimension : defined.dimensions) {
      const mesh::DimensionDefinition& known = step_.definitions->dimensions[static_cast<std::size_t>(dimension)];
      if (!known.unlimited) variable.dimensions.push_back(known.name);
    }
    variables_.push_back(std::move(variable));
  }
}

const std::vector<mesh::Attribute>& LiveDataset::attributes() const {
  return step_.definitions ? step_.definitions->attributes : no_attributes;
}

std::vector<int> LiveDataset::fixed_here() const {
  std::vector<int> found;
  for (const auto& [variable, pieces] : pieces_) {
    if (!variables_[variable].per_step) found.push_back(static_cast<int>(variable));
  }
  return found;
}

void LiveDataset::read(int id, std::uint64_t record, const mesh::Box& box, double* values) const {
  const std::uint64_t elements = box.elements();
  std::fill(values, values + elements, nothing);
  const auto found = pieces_.find(static_cast<std::uint32_t>(id));
  const mesh::Shape& shape = variable(id).shape;
  if (found != pieces_.end()) {
    for (const drain::StepPiece* piece : found->second) read_piece(*piece, record, shape, box, values);
    return;
  }
  const auto fixed = fixed_ ? fixed_->find(id) : FixedValues::const_iterator{};
  if (!fixed_ || fixed == fixed_->end()) return;
  const mesh::Rows rows(box, shape);
  for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
    const auto from = fixed->second.begin() + static_cast<std::ptrdiff_t>(rows.position(row));
    std::copy(from, from + static_cast<std::ptrdiff_t>(rows.row_elements()), values + row * rows.row_elements());
  }
}

// Row by row of what the piece's put and the box have in common. Of a put that is several pieces each has a part of its elements.
void LiveDataset::read_piece(const drain::StepPiece& piece, std::uint64_t record, const mesh::Shape& shape, const mesh::Box& box,
                             double* values) const {
  const mesh::Box& put = piece.put.box;
  if (put.start.size() != shape.size() || put.count.size() != shape.size()) return;
  std::uint64_t in_front = 0;   // elements of records before
  if (piece.place && variables_[piece.variable].per_step) {
    if (record < piece.put.first_record || record - piece.put.first_record >= piece.put.records) return;
    in_front = (record - piece.put.first_record) * put.elements();
  }
  mesh::Box common{shape, shape};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t first = std::max(put.start[d], box.start[d]);
    const std::uint64_t end = std::min(put.start[d] + put.count[d], box.start[d] + box.count[d]);
    if (first >= end) return;
    common.start[d] = first;
    common.count[d] = end - first;
  }
  const std::size_t element_bytes = mesh::size_of(piece.type);
  const std::uint64_t piece_first = piece.first_byte / element_bytes, piece_count = piece.bytes.size() / element_bytes;
  mesh::Box in_put = common, in_box = common;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    in_put.start[d] -= put.start[d];
    in_box.start[d] -= box.start[d];
  }
  // A dimension in front keeps rows of both from being joined otherwise: the last dimension is a row in both.
  const std::uint64_t length = shape.empty() ? 1 : common.count.back();
  const std::uint64_t rows = common.elements() / length;
  mesh::Shape place(shape.size(), 0);
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t from = 0, to = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      from = from * put.count[d] + in_put.start[d] + place[d];
      to = to * box.count[d] + in_box.start[d] + place[d];
    }
    const std::uint64_t first = std::max(in_front + from, piece_first), end = std::min(in_front + from + length, piece_first + piece_count);
    if (first < end) {
      const std::byte* bytes = piece.bytes.data() + (first - piece_first) * element_bytes;
      double* const into = values + to + (first - in_front - from);
      std::vector<std::byte> native;
      if (piece.is_big_endian && element_bytes > 1) native = swapped(bytes, end - first, element_bytes);
      to_doubles(piece.type, native.empty() ? bytes : native.data(), end - first, into);
    }
    for (std::size_t d = shape.size(); d-- > 1;) {   // the next row
      if (++place[d - 1] < common.count[d - 1]) break;
      place[d - 1] = 0;
    }
  }
}

}  // namespace glean::view
