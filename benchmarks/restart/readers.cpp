// SPDX-License-Identifier: BSD-3-Clause
#include "restart/readers.hpp"

#include <mpi.h>
#include <pnetcdf.h>

#include <span>
#include <stdexcept>

namespace glean::benchmarks {
namespace {

void check(int status, const std::string& what) {
  if (status != NC_NOERR) throw std::runtime_error(what + ": " + ncmpi_strerror(status));
}

enum class PnetcdfReads { collective, nonblocking, independent };

void read_with_pnetcdf(const std::string& path, const RestartPattern& pattern, Parts& into, PnetcdfReads reads) {
  int id = -1;
  check(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id), path);
  if (reads == PnetcdfReads::independent) check(ncmpi_begin_indep_data(id), path);
  for (std::size_t i = 0; i < pattern.arrays.size(); ++i) {
    const RestartArray& array = pattern.arrays[i];
    int variable = -1;
    check(ncmpi_inq_varid(id, array.name.c_str(), &variable), array.name);
    const std::vector<MPI_Offset> start(array.mine.start.begin(), array.mine.start.end());
    const std::vector<MPI_Offset> count(array.mine.count.begin(), array.mine.count.end());
    const MPI_Datatype type = array.type == glean::Type::int64 ? MPI_LONG_LONG : MPI_DOUBLE;
    const auto elements = static_cast<MPI_Offset>(into[i].size() / element_bytes);
    void* values = into[i].data();
    int status = NC_NOERR;
    switch (reads) {
      case PnetcdfReads::collective: status = ncmpi_get_vara_all(id, variable, start.data(), count.data(), values, elements, type); break;
      case PnetcdfReads::independent: status = ncmpi_get_vara(id, variable, start.data(), count.data(), values, elements, type); break;
      case PnetcdfReads::nonblocking:
        status = ncmpi_iget_vara(id, variable, start.data(), count.data(), values, elements, type, nullptr);
        break;
    }
    check(status, array.name);
  }
  if (reads == PnetcdfReads::nonblocking) check(ncmpi_wait_all(id, NC_REQ_ALL, nullptr, nullptr), path);
  if (reads == PnetcdfReads::independent) check(ncmpi_end_indep_data(id), path);
  check(ncmpi_close(id), path);
}

template <class T>
std::span<T> values_of(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

void read_with_glean(glean::Session& session, const std::string& path, const RestartPattern& pattern, Parts& into, bool collective) {
  const glean::Input input = session.open_input(path);
  for (std::size_t i = 0; i < pattern.arrays.size(); ++i) {
    const RestartArray& array = pattern.arrays[i];
    const glean::Variable variable = input.find_variable(array.name);
    const std::size_t elements = into[i].size() / element_bytes;
    if (collective) input.read_box_all(variable, 0, array.mine, array.type, into[i].data(), elements);
    else input.read_box(variable, 0, array.mine, array.type, into[i].data(), elements);
  }
}

}  // namespace

std::vector<RestartReader> restart_readers(glean::Session& session) {
  std::vector<RestartReader> readers;
  for (const bool collective : {false, true}) {
    readers.push_back({collective ? "GLEAN read_all" : "GLEAN", ".nc",
                       [&session, collective](const std::string& path, const RestartPattern& pattern, Parts& into) {
                         read_with_glean(session, path, pattern, into, collective);
                       }});
  }
  const auto pnetcdf = [&](const char* name, PnetcdfReads reads) {
    readers.push_back({name, ".nc", [reads](const std::string& path, const RestartPattern& pattern, Parts& into) {
                         read_with_pnetcdf(path, pattern, into, reads);
                       }});
  };
  pnetcdf("PnetCDF collective", PnetcdfReads::collective);
  pnetcdf("PnetCDF nonblocking", PnetcdfReads::nonblocking);
  pnetcdf("PnetCDF independent", PnetcdfReads::independent);
#ifdef GLEAN_BENCH_HDF5
  for (const bool collective : {true, false}) {
    readers.push_back({collective ? "HDF5 collective" : "HDF5 independent", ".h5",
                       [collective](const std::string& path, const RestartPattern& pattern, Parts& into) {
                         read_with_hdf5(path, pattern, into, collective);
                       }});
  }
#endif
  return readers;
}

void write_restart_files(glean::Session& session, const std::string& directory, const RestartPattern& pattern, const Parts& parts) {
  const std::string path = directory + "/" + pattern.name;
  glean::Output out = session.open(path + ".nc", glean::Format::cdf5);
  std::vector<glean::Variable> variables;
  for (const RestartArray& array : pattern.arrays) {
    std::vector<glean::Dimension> dimensions;
    for (std::size_t d = 0; d < array.shape.size(); ++d) {
      dimensions.push_back(out.define_dimension(array.name + "_" + std::to_string(d), array.shape[d]));
    }
    variables.push_back(out.define_variable(array.name, array.type, dimensions, {array.mine}));
  }
  out.begin_step();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    out.put_all(variables[i], pattern.arrays[i].type, parts[i].data(), parts[i].size() / element_bytes);
  }
  out.end_step();
  out.close(glean::Level::durable);
#ifdef GLEAN_BENCH_HDF5
  write_with_hdf5(path + ".h5", pattern, parts);
#endif
}

}  // namespace glean::benchmarks
