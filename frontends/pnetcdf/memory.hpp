// SPDX-License-Identifier: BSD-3-Clause
//
// The buffer of a put, as the file has it: elements of the external type, big-endian.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "frontends/mpiio/typed_memory.hpp"
#include "store/convert.hpp"
#include "store/format/cdf/cdf.hpp"
#include "variable.hpp"

namespace glean::pnetcdf {

// As a call says it.
struct Buffer {
  const void* data = nullptr;
  std::optional<mesh::Type> type;    // of a typed call; none: a flexible one
  MPI_Offset count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;   // null: as the variable has it
};

// Refers to the buffer; not to the datatype.
class Memory {
 public:
  // Whether a value fits is known from the types, or else the values are looked at while they are copied, which all ranks need not find
  // alike.
  enum class Range { of_types, of_values };
  // The memory of all elements of `slabs`. None where the call is the library's: the numbers differ, a value might not fit, text meets
  // numbers, or the datatype is not simple enough.
  [[nodiscard]] static std::optional<Memory> of(const Buffer& buffer, const Selection& selection, const Variable& variable,
                                                const std::vector<Slab>& slabs, store::CdfVersion format, Range range);

  // Converts bytes [first, first + target.size()) of the stream of the file into `target`.
  void copy_out(Bytes first, std::span<std::byte> target) const;
  // All values did that have been copied so far.
  [[nodiscard]] bool all_copied_fit() const { return all_copied_fit_; }
  // Elements side by side and of the type that the file has: only the order of bytes differs.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  // An element as the program has it, and its type.
  [[nodiscard]] std::array<std::byte, 8> element(std::uint64_t index) const;
  [[nodiscard]] MPI_Datatype element_type() const;

 private:
  Memory(mpiio::TypedMemory memory, mesh::Type type, mesh::Type external, store::CdfVersion format);
  void convert(Bytes first_element, std::byte* target, std::size_t count) const;
  // Hands over elements side by side.
  template <class Take>
  void for_each_part(Bytes first_element, std::uint64_t count, Take take) const;

  mpiio::TypedMemory memory_;
  mesh::Type type_;
  Bytes element_bytes_, external_bytes_;
  store::Converter converter_, streaming_converter_;
  bool is_plain_;
  mutable bool all_copied_fit_ = true;
};

}  // namespace glean::pnetcdf
