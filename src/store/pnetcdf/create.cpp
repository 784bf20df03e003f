// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/create.hpp"

#include "store/convert.hpp"
#include "store/pnetcdf/define.hpp"

namespace glean::store {

namespace {

// The `_FillValue` attribute, or NetCDF's default, in the file's byte order.
std::array<std::byte, 8> fill_value(int file, int variable, mesh::Type external, const std::string& what) {
  std::array<std::byte, 8> native{}, result{};
  int no_fill = 0;
  check(ncmpi_inq_var_fill(file, variable, &no_fill, native.data()), what);
  converter(external, external, Format::cdf5)(native.data(), result.data(), 1, native.data());
  return result;
}

VariableLayout variable_layout(int file, const Definitions& definitions, int variable, Bytes record_bytes,
                               const std::string& what) {
  const VariableDefinition& definition = definitions.variables[static_cast<std::size_t>(variable)];
  MPI_Offset begin = 0;
  check(ncmpi_inq_varoffset(file, variable, &begin), what);
  return {.name = definition.name,
          .external = definition.external,
          .shape = definitions.shape(variable),
          .begin_bytes = static_cast<Bytes>(begin),
          .record_stride_bytes = definitions.per_step(variable) ? record_bytes : 0,
          .fill = definition.fill,
          .fill_value = fill_value(file, variable, definition.external, what)};
}

}  // namespace

FileLayout create_netcdf(const std::string& path, const Definitions& definitions, base::RangeRule range) {
  const std::string what = "cannot create '" + path + "'";
  int id = -1;
  check(ncmpi_create(MPI_COMM_SELF, path.c_str(), creation_mode(definitions.format), MPI_INFO_NULL, &id), what);
  OpenFile file(id);
  define(id, definitions, FillMode::never);
  check(ncmpi_enddef(id), what);

  FileLayout layout;
  layout.format = definitions.format;
  layout.range = range;
  MPI_Offset header_bytes = 0, record_bytes = 0;
  check(ncmpi_inq_header_size(id, &header_bytes), what);
  check(ncmpi_inq_recsize(id, &record_bytes), what);
  layout.header_bytes = static_cast<Bytes>(header_bytes);
  for (int variable = 0; variable < static_cast<int>(definitions.variables.size()); ++variable) {
    layout.variables.push_back(
        variable_layout(id, definitions, variable, static_cast<Bytes>(record_bytes), what));
  }
  check(file.close(), what);
  return layout;
}

}  // namespace glean::store
