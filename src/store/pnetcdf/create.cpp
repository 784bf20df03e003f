// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/create.hpp"

#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "base/error.hpp"
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

VariableLayout variable_layout(int file, const mesh::Definitions& definitions, int variable, Bytes record_bytes,
                               const std::string& what) {
  const mesh::VariableDefinition& definition = definitions.variables[static_cast<std::size_t>(variable)];
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

// MPI-IO may keep a failed write to itself (ompio of Open MPI 4.1 does), and PnetCDF then knows nothing of it.
void check_header_arrived(const std::string& path, Bytes header_bytes, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 3> magic{};
  file.read(magic.data(), magic.size());
  const bool starts = file && magic == std::array{'C', 'D', 'F'};
  file.seekg(0, std::ios::end);
  if (starts && static_cast<Bytes>(file.tellg()) >= header_bytes) return;
  struct statvfs status {};
  const bool full = statvfs(path.c_str(), &status) == 0 && status.f_bavail * status.f_frsize < header_bytes + 4096;
  if (full) throw base::system_error(ENOSPC, what);
  throw base::Error(base::Errc::io, what + ": its header did not arrive, and MPI-IO reported no error");
}

}  // namespace

FileLayout layout_of(int id, Format format, const mesh::Definitions& definitions, const std::string& what) {
  FileLayout layout;
  layout.format = format;
  MPI_Offset header_bytes = 0, record_bytes = 0;
  check(ncmpi_inq_header_size(id, &header_bytes), what);
  check(ncmpi_inq_recsize(id, &record_bytes), what);
  layout.header_bytes = static_cast<Bytes>(header_bytes);
  for (int variable = 0; variable < static_cast<int>(definitions.variables.size()); ++variable) {
    layout.variables.push_back(variable_layout(id, definitions, variable, static_cast<Bytes>(record_bytes), what));
  }
  return layout;
}

FileLayout create_netcdf(const std::string& path, Format format, const mesh::Definitions& definitions, base::RangeRule range) {
  const std::string what = "cannot create '" + path + "'";
  int id = -1;
  check(ncmpi_create(MPI_COMM_SELF, path.c_str(), creation_mode(format), MPI_INFO_NULL, &id), what);
  OpenFile file(id);
  define(id, definitions, FillMode::never);
  check(ncmpi_enddef(id), what);

  FileLayout layout = layout_of(id, format, definitions, what);
  layout.range = range;
  check(file.close(), what);
  check_header_arrived(path, layout.header_bytes, what);
  return layout;
}

}  // namespace glean::store
