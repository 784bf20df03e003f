// SPDX-License-Identifier: BSD-3-Clause
#include "store/windows/piece.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace glean::store {
namespace {

const mesh::Box& checked(const VariableLayout& variable, std::uint64_t record, const mesh::Box& box,
                         std::uint64_t first, std::uint64_t elements) {
  if (box.count.size() != variable.shape.size() || !mesh::whole(variable.shape).contains(box) || elements == 0 ||
      elements > box.elements() || first > box.elements() - elements) {
    throw base::Error(base::Errc::invalid_argument,
                      "box " + mesh::to_string(box) + " does not lie in variable '" + variable.name + "'");
  }
  if (!variable.has_room_for(record)) {
    throw base::Error(base::Errc::invalid_argument,
                      "record " + std::to_string(record) + " of variable '" + variable.name + "' lies outside any file");
  }
  return box;
}

}  // namespace

Piece::Piece(const VariableLayout& variable, std::uint64_t record, const mesh::Box& box, std::uint64_t first,
             std::uint64_t elements)
    : rows_(checked(variable, record, box, first, elements), variable.shape),
      record_begin_(variable.record_begin_bytes(record)),
      element_bytes_(mesh::size_of(variable.external)),
      first_(first),
      elements_(elements),
      first_row_(first / rows_.row_elements()),
      last_row_((first + elements - 1) / rows_.row_elements()) {}

Piece::Piece(mesh::PatternPart bytes) : pattern_(std::move(bytes)), elements_(pattern_->file_bytes()) {}

Piece::Piece(const mesh::RunList& bytes) : list_(bytes), elements_(bytes.file_bytes()) {}

Piece::Run Piece::run_of_row(std::uint64_t row) const {
  const std::uint64_t begins = row * rows_.row_elements();
  const std::uint64_t from = std::max(begins, first_);
  const std::uint64_t to = std::min(begins + rows_.row_elements(), first_ + elements_);
  return {from - first_, to - from, record_begin_ + (rows_.position(row) + (from - begins)) * element_bytes_};
}

Extent Piece::file_extent() const {
  if (pattern_) return pattern_->file_extent();
  if (list_) return list_->file_extent();
  const Run last = run_of_row(last_row_);
  return {run_of_row(first_row_).file_offset, last.file_offset + last.elements * element_bytes_};
}

std::uint64_t Piece::first_row_touching(Bytes file_offset) const {
  if (file_offset <= record_begin_) return first_row_;
  return std::max(first_row_, rows_.first_row_ending_after((file_offset - record_begin_) / element_bytes_));
}

Bytes Piece::bytes_before(Bytes file_offset) const {
  if (pattern_) return pattern_->bytes_before(file_offset);
  if (list_) return list_->bytes_before(file_offset);
  const std::uint64_t row = first_row_touching(file_offset);
  if (row > last_row_) return file_bytes();
  const Run run = run_of_row(row);
  const Bytes in_row =
      file_offset > run.file_offset ? std::min(file_offset - run.file_offset, run.elements * element_bytes_) : 0;
  return run.source * element_bytes_ + in_row;
}

std::optional<Bytes> Piece::next_byte(Bytes file_offset) const {
  if (pattern_) return pattern_->next_byte(file_offset);
  if (list_) return list_->next_byte(file_offset);
  for (std::uint64_t row = first_row_touching(file_offset); row <= last_row_; ++row) {
    const Run run = run_of_row(row);
    if (run.file_offset + run.elements * element_bytes_ > file_offset) return std::max(run.file_offset, file_offset);
  }
  return std::nullopt;
}

}  // namespace glean::store
