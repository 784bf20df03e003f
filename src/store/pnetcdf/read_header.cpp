// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/read_header.hpp"

#include <array>
#include <vector>

#include "base/error.hpp"
#include "store/pnetcdf/define.hpp"

namespace glean::store {
namespace {

CdfVersion version_of(int file, const std::string& what) {
  int format = 0;
  check(ncmpi_inq_format(file, &format), what);
  switch (format) {
    case NC_FORMAT_CLASSIC: return CdfVersion::cdf1;
    case NC_FORMAT_CDF2: return CdfVersion::cdf2;
    case NC_FORMAT_CDF5: return CdfVersion::cdf5;
    default: throw base::Error(base::Errc::unsupported, what + ": it is not in a classic NetCDF format");
  }
}

mesh::Type type_of(nc_type external, const std::string& what) {
  for (int type = 0; type < mesh::type_count; ++type) {
    if (nc_type_of(static_cast<mesh::Type>(type)) == external) return static_cast<mesh::Type>(type);
  }
  throw base::Error(base::Errc::io, what + ": a variable has a type that does not exist");
}

VariableLayout variable_layout(int file, CdfVersion version, int variable, int unlimited, Bytes record_bytes, const std::string& what) {
  std::array<char, NC_MAX_NAME + 1> name{};
  nc_type external = NC_NAT;
  int dimension_count = 0;
  check(ncmpi_inq_var(file, variable, name.data(), &external, &dimension_count, nullptr, nullptr), what);
  std::vector<int> dimensions(static_cast<std::size_t>(dimension_count));
  check(ncmpi_inq_vardimid(file, variable, dimensions.data()), what);
  MPI_Offset begin = 0;
  check(ncmpi_inq_varoffset(file, variable, &begin), what);
  VariableLayout layout;
  layout.name = name.data();
  layout.external = type_of(external, what);
  layout.stored = stored_in(version);
  layout.begin_bytes = static_cast<Bytes>(begin);
  for (const int dimension : dimensions) {
    MPI_Offset length = 0;
    check(ncmpi_inq_dimlen(file, dimension, &length), what);
    if (dimension == unlimited) layout.record_stride_bytes = record_bytes;
    else layout.shape.push_back(static_cast<std::uint64_t>(length));
  }
  return layout;
}

}  // namespace

Header read_netcdf(const std::string& path) {
  const std::string what = "cannot read the header of '" + path + "'";
  int id = -1;
  check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id), what);
  OpenFile file(id);
  Header header;
  const CdfVersion version = version_of(id, what);
  header.layout.format = name_of(version);
  MPI_Offset header_bytes = 0, record_bytes = 0, records = 0;
  int variables = 0, unlimited = -1;
  check(ncmpi_inq_header_size(id, &header_bytes), what);
  check(ncmpi_inq_recsize(id, &record_bytes), what);
  check(ncmpi_inq_nvars(id, &variables), what);
  check(ncmpi_inq_unlimdim(id, &unlimited), what);
  if (unlimited >= 0) check(ncmpi_inq_dimlen(id, unlimited, &records), what);
  header.layout.header_bytes = static_cast<Bytes>(header_bytes);
  header.records = static_cast<std::uint64_t>(records);
  for (int variable = 0; variable < variables; ++variable) {
    header.layout.variables.push_back(variable_layout(id, version, variable, unlimited, static_cast<Bytes>(record_bytes), what));
  }
  check(file.close(), what);
  return header;
}

}  // namespace glean::store
