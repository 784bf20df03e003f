// SPDX-License-Identifier: BSD-3-Clause
//
// A variable, as the PnetCDF library has placed it, and parts of it.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"
#include "mesh/pattern.hpp"
#include "mesh/type.hpp"

namespace glean::pnetcdf {

using base::Bytes;

struct Variable {
  std::string name;
  mesh::Type external = mesh::Type::float64;
  mesh::Shape shape;             // the slowest dimension first; without records: 0 where they are counted
  bool has_records = false;      // its first dimension is the unlimited one
  int unlimited_dimension = -1;
  Bytes begin = 0;               // in the file; valid in data mode
  std::vector<Bytes> strides;    // from one index to the next, of each dimension

  [[nodiscard]] Bytes element_bytes() const { return mesh::size_of(external); }
};

// None: of no type of these files.
[[nodiscard]] std::optional<mesh::Type> type_of(nc_type type);
// Asks the library. None where it does not know the variable, or the variable is of no type of these files. Local.
[[nodiscard]] std::optional<Variable> inquire_variable(int ncid, int varid);
// How many records the file has, as far as this rank knows. Local.
[[nodiscard]] MPI_Offset inquire_records(int ncid, const Variable& variable);

// Which elements a call says, as it says it.
struct Selection {
  enum class Kind { whole, element, region, list };
  Kind kind = Kind::whole;
  const MPI_Offset* start = nullptr;
  const MPI_Offset* count = nullptr;
  const MPI_Offset* stride = nullptr;   // null: 1
  const MPI_Offset* map = nullptr;      // distances in memory, in elements; null: contiguous
  int number = 0;                       // of a list
  MPI_Offset* const* starts = nullptr;
  MPI_Offset* const* counts = nullptr;  // null, or null for one: 1 element
};

// start + i * stride, i < count, in each dimension; no dimension: one element.
struct Slab {
  mesh::Shape start, count, stride;
  [[nodiscard]] std::uint64_t elements() const { return mesh::elements_of(count); }
  // The index of the last element in a dimension.
  [[nodiscard]] std::uint64_t last(std::size_t d) const { return start[d] + (count[d] - 1) * stride[d]; }
};

// None if anything is wrong with it or there are no elements: then it is the library's. What has no elements is left out.
// `format_limits_records`: CDF-1 and CDF-2 have 32 bits for them.
[[nodiscard]] std::optional<std::vector<Slab>> slabs_of(const Variable& variable, const Selection& selection, MPI_Offset records,
                                                        bool format_limits_records);
[[nodiscard]] std::uint64_t elements_of(const std::vector<Slab>& slabs);
// After the last record that is written; 0 of a variable without records.
[[nodiscard]] std::uint64_t records_after(const Variable& variable, const std::vector<Slab>& slabs);
// Where the slab's elements lie, in its order. Need not be valid: offsets may be too large.
[[nodiscard]] mesh::Pattern pattern_of(const Variable& variable, const Slab& slab);

}  // namespace glean::pnetcdf
