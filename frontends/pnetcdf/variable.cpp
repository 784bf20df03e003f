// SPDX-License-Identifier: BSD-3-Clause
#include "variable.hpp"

#include <algorithm>
#include <limits>

#include "library.hpp"

namespace glean::pnetcdf {
namespace {

constexpr MPI_Offset most_records = std::numeric_limits<std::uint32_t>::max();   // of CDF-1 and CDF-2

// Looks at one dimension. The library looks at the edges in the same way, but says which of them is wrong.
bool lies_in(MPI_Offset start, MPI_Offset count, MPI_Offset stride, MPI_Offset length) {
  if (start < 0 || count < 0 || stride <= 0 || count > length || start > length - count) return false;
  return count == 0 || (start < length && (count - 1) <= (length - 1 - start) / stride);
}

std::optional<Slab> slab_of(const Variable& variable, const MPI_Offset* start, const MPI_Offset* count, const MPI_Offset* stride,
                            bool format_limits_records) {
  const std::size_t dimensions = variable.shape.size();
  if (dimensions != 0 && start == nullptr) return std::nullopt;
  Slab slab;
  slab.start.reserve(dimensions), slab.count.reserve(dimensions), slab.stride.reserve(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const MPI_Offset here = count == nullptr ? 1 : count[d], step = stride == nullptr ? 1 : stride[d];
    if (d == 0 && variable.has_records) {
      const MPI_Offset room = std::numeric_limits<std::int32_t>::max();   // as many records as a call can have
      if (start[d] < 0 || here < 0 || step <= 0 || here > room || step > room) return std::nullopt;
      if (start[d] > (format_limits_records ? most_records : most_records * room)) return std::nullopt;
    } else if (!lies_in(start[d], here, step, static_cast<MPI_Offset>(variable.shape[d]))) {
      return std::nullopt;
    }
    slab.start.push_back(static_cast<std::uint64_t>(start[d]));
    slab.count.push_back(static_cast<std::uint64_t>(here));
    slab.stride.push_back(static_cast<std::uint64_t>(step));
  }
  return slab;
}

Slab whole(const Variable& variable, MPI_Offset records) {
  Slab slab{mesh::Shape(variable.shape.size(), 0), variable.shape, mesh::Shape(variable.shape.size(), 1)};
  if (variable.has_records) slab.count[0] = static_cast<std::uint64_t>(records);
  return slab;
}

}  // namespace

std::optional<mesh::Type> type_of(nc_type type) {
  switch (type) {
    case NC_BYTE: return mesh::Type::int8;
    case NC_UBYTE: return mesh::Type::uint8;
    case NC_CHAR: return mesh::Type::text;
    case NC_SHORT: return mesh::Type::int16;
    case NC_USHORT: return mesh::Type::uint16;
    case NC_INT: return mesh::Type::int32;
    case NC_UINT: return mesh::Type::uint32;
    case NC_INT64: return mesh::Type::int64;
    case NC_UINT64: return mesh::Type::uint64;
    case NC_FLOAT: return mesh::Type::float32;
    case NC_DOUBLE: return mesh::Type::float64;
    default: return std::nullopt;
  }
}

std::optional<Variable> inquire_variable(int ncid, int varid) {
  Variable variable;
  char name[NC_MAX_NAME + 1] = {};
  nc_type type = NC_NAT;
  int dimensions = 0;
  if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_varndims)(ncid, varid, &dimensions) != NC_NOERR) return std::nullopt;
  std::vector<int> ids(static_cast<std::size_t>(dimensions));
  MPI_Offset begin = 0, record_bytes = 0;
  if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_var)(ncid, varid, name, &type, &dimensions, ids.data(), nullptr) != NC_NOERR ||
      GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_varoffset)(ncid, varid, &begin) != NC_NOERR ||
      GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_recsize)(ncid, &record_bytes) != NC_NOERR ||
      GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_unlimdim)(ncid, &variable.unlimited_dimension) != NC_NOERR) {
    return std::nullopt;
  }
  const auto external = type_of(type);
  if (!external) return std::nullopt;
  variable.name = name;
  variable.external = *external;
  variable.begin = static_cast<Bytes>(begin);
  variable.has_records = !ids.empty() && ids[0] == variable.unlimited_dimension;
  for (const int id : ids) {
    MPI_Offset length = 0;
    if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_dimlen)(ncid, id, &length) != NC_NOERR) return std::nullopt;
    variable.shape.push_back(static_cast<std::uint64_t>(length));
  }
  variable.strides.assign(ids.size(), variable.element_bytes());
  for (std::size_t d = ids.size(); d-- > 1;) variable.strides[d - 1] = variable.strides[d] * variable.shape[d];
  if (variable.has_records) {
    variable.shape[0] = 0;
    variable.strides[0] = static_cast<Bytes>(record_bytes);
  }
  return variable;
}

MPI_Offset inquire_records(int ncid, const Variable& variable) {
  MPI_Offset records = 0;
  if (variable.has_records) GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_dimlen)(ncid, variable.unlimited_dimension, &records);
  return records;
}

std::optional<std::vector<Slab>> slabs_of(const Variable& variable, const Selection& selection, MPI_Offset records,
                                          bool format_limits_records) {
  std::vector<Slab> slabs;
  const auto add = [&](const MPI_Offset* start, const MPI_Offset* count, const MPI_Offset* stride) {
    auto slab = slab_of(variable, start, count, stride, format_limits_records);
    if (!slab) return false;
    if (slab->elements() != 0) slabs.push_back(std::move(*slab));
    return true;
  };
  switch (selection.kind) {
    case Selection::Kind::whole:
      slabs.push_back(whole(variable, records));
      break;
    case Selection::Kind::element:
      if (!add(selection.start, nullptr, nullptr)) return std::nullopt;
      break;
    case Selection::Kind::region:
      if (!variable.shape.empty() && selection.count == nullptr) return std::nullopt;
      if (!add(selection.start, selection.count, selection.stride)) return std::nullopt;
      break;
    case Selection::Kind::list:
      if (variable.shape.empty() || selection.starts == nullptr) return std::nullopt;
      for (int i = 0; i < selection.number; ++i) {
        if (!add(selection.starts[i], selection.counts == nullptr ? nullptr : selection.counts[i], nullptr)) return std::nullopt;
      }
      break;
  }
  if (elements_of(slabs) == 0) return std::nullopt;
  return slabs;
}

std::uint64_t elements_of(const std::vector<Slab>& slabs) {
  std::uint64_t elements = 0;
  for (const Slab& slab : slabs) elements += slab.elements();
  return elements;
}

std::uint64_t records_after(const Variable& variable, const std::vector<Slab>& slabs) {
  std::uint64_t records = 0;
  if (!variable.has_records) return 0;
  for (const Slab& slab : slabs) records = std::max(records, slab.last(0) + 1);
  return records;
}

mesh::Pattern pattern_of(const Variable& variable, const Slab& slab) {
  mesh::Pattern pattern{.offset = variable.begin, .block_bytes = variable.element_bytes(), .levels = {}};
  pattern.levels.reserve(slab.count.size());
  for (std::size_t d = 0; d < slab.count.size(); ++d) {
    pattern.offset += slab.start[d] * variable.strides[d];
    pattern.levels.push_back({slab.count[d], slab.stride[d] * variable.strides[d]});
  }
  return pattern.canonical();
}

}  // namespace glean::pnetcdf
