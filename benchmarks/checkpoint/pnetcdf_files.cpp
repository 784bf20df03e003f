// SPDX-License-Identifier: BSD-3-Clause
#include "checkpoint/pnetcdf_files.hpp"

#include <mpi.h>
#include <pnetcdf.h>

#include <stdexcept>
#include <vector>

namespace glean::benchmarks {
namespace {

void check(int status, const std::string& what) {
  if (status != NC_NOERR) throw std::runtime_error(what + ": " + ncmpi_strerror(status));
}

nc_type netcdf_type(glean::Type type) {
  return type == glean::Type::int32 ? NC_INT : type == glean::Type::float32 ? NC_FLOAT : NC_DOUBLE;
}

MPI_Datatype mpi_type(glean::Type type) {
  return type == glean::Type::int32 ? MPI_INT : type == glean::Type::float32 ? MPI_FLOAT : MPI_DOUBLE;
}

}  // namespace

void write_with_pnetcdf(const File& file, const std::string& path, PnetcdfCalls calls) {
  int id = -1;
  check(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id), path);
  std::vector<int> dimensions, variables;
  for (const Dimension& dimension : file.dimensions) {
    dimensions.emplace_back();
    check(ncmpi_def_dim(id, dimension.name.c_str(), static_cast<MPI_Offset>(dimension.length), &dimensions.back()),
          dimension.name);
  }
  for (const Array& array : file.arrays) {
    std::vector<int> over;
    for (const int dimension : array.dimensions) over.push_back(dimensions[static_cast<std::size_t>(dimension)]);
    variables.emplace_back();
    check(ncmpi_def_var(id, array.name.c_str(), netcdf_type(array.external), static_cast<int>(over.size()),
                        over.data(), &variables.back()), array.name);
  }
  check(ncmpi_enddef(id), path);
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    const Array& array = file.arrays[i];
    const std::vector<MPI_Offset> start(array.mine.start.begin(), array.mine.start.end());
    const std::vector<MPI_Offset> count(array.mine.count.begin(), array.mine.count.end());
    MPI_Offset elements = 1;
    for (const MPI_Offset n : count) elements *= n;
    if (calls == PnetcdfCalls::blocking) {
      check(ncmpi_put_vara_all(id, variables[i], start.data(), count.data(), array.data, elements,
                               mpi_type(array.memory)), array.name);
    } else {
      check(ncmpi_iput_vara(id, variables[i], start.data(), count.data(), array.data, elements,
                            mpi_type(array.memory), nullptr), array.name);
    }
  }
  if (calls == PnetcdfCalls::nonblocking) check(ncmpi_wait_all(id, NC_REQ_ALL, nullptr, nullptr), path);
  check(ncmpi_close(id), path);
}

}  // namespace glean::benchmarks
