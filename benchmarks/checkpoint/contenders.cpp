// SPDX-License-Identifier: BSD-3-Clause
#include "checkpoint/contenders.hpp"

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

void write_with_pnetcdf(const File& file, const std::string& path, Contender contender) {
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
    if (contender == Contender::pnetcdf_blocking) {
      check(ncmpi_put_vara_all(id, variables[i], start.data(), count.data(), array.data, elements,
                               mpi_type(array.memory)), array.name);
    } else {
      check(ncmpi_iput_vara(id, variables[i], start.data(), count.data(), array.data, elements,
                            mpi_type(array.memory), nullptr), array.name);
    }
  }
  if (contender == Contender::pnetcdf_nonblocking) check(ncmpi_wait_all(id, NC_REQ_ALL, nullptr, nullptr), path);
  check(ncmpi_close(id), path);
}

template <class T>
void put(glean::Output& out, glean::Variable variable, const Array& array) {
  std::uint64_t elements = 1;
  for (const std::uint64_t n : array.mine.count) elements *= n;
  out.put(variable, std::span<const T>(static_cast<const T*>(array.data), elements));
}

void write_with_glean(glean::Session& session, const File& file, const std::string& path) {
  glean::Output out = session.open(path, glean::Format::cdf5);
  std::vector<glean::Dimension> dimensions;
  for (const Dimension& dimension : file.dimensions) {
    dimensions.push_back(out.define_dimension(dimension.name, dimension.length));
  }
  std::vector<glean::Variable> variables;
  for (const Array& array : file.arrays) {
    std::vector<glean::Dimension> over;
    for (const int dimension : array.dimensions) over.push_back(dimensions[static_cast<std::size_t>(dimension)]);
    variables.push_back(out.define_variable(array.name, array.external, over, {array.mine}));
  }
  out.begin_step();
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    if (file.arrays[i].memory == glean::Type::int32) {
      put<std::int32_t>(out, variables[i], file.arrays[i]);
    } else {
      put<double>(out, variables[i], file.arrays[i]);
    }
  }
  out.end_step();
  out.close();
}

}  // namespace

const char* name_of(Contender contender) {
  switch (contender) {
    case Contender::pnetcdf_blocking: return "PnetCDF blocking";
    case Contender::pnetcdf_nonblocking: return "PnetCDF nonblocking";
    case Contender::glean: return "GLEAN";
  }
  return "";
}

Outcome write(Contender contender, const Ranks& ranks, glean::Session& session, const Workload& workload,
              const std::string& directory) {
  Outcome outcome;
  ranks.start_line();
  const double cpu = cpu_seconds();
  const double begin = now_seconds();
  for (const File& file : workload.files) {
    const std::string path = directory + "/" + file.name;
    if (contender == Contender::glean) {
      write_with_glean(session, file, path);
    } else {
      write_with_pnetcdf(file, path, contender);
    }
  }
  outcome.blocked_seconds = now_seconds() - begin;
  outcome.blocked_cpu_seconds = cpu_seconds() - cpu;
  if (contender == Contender::glean) {
    session.wait(glean::Level::durable);
  } else {
    // What a program must do that wants to be sure: PnetCDF's own calls do not wait for the disk.
    if (ranks.root()) {
      for (const File& file : workload.files) synchronize_file(directory + "/" + file.name);
      synchronize_file_system(directory);
    }
    ranks.wait_quietly();
  }
  outcome.durable_seconds = ranks.max(now_seconds() - begin);
  outcome.cpu_seconds = ranks.sum(cpu_seconds() - cpu);
  outcome.blocked_seconds = ranks.max(outcome.blocked_seconds);
  outcome.blocked_cpu_seconds = ranks.sum(outcome.blocked_cpu_seconds);
  return outcome;
}

}  // namespace glean::benchmarks
