// SPDX-License-Identifier: BSD-3-Clause
#include "checkpoint/contenders.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "checkpoint/pnetcdf_files.hpp"

namespace glean::benchmarks {
namespace {

template <class T>
void put(glean::Output& out, glean::Variable variable, const Array& array) {
  std::uint64_t elements = 1;
  for (const std::uint64_t n : array.mine.count) elements *= n;
  out.put(variable, std::span<const T>(static_cast<const T*>(array.data), elements));
}

}  // namespace

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

bool same_bytes(const std::string& one, const std::string& other) {
  std::ifstream a(one, std::ios::binary), b(other, std::ios::binary);
  std::vector<char> from_a(1 << 20), from_b(1 << 20);
  if (!a || !b || std::filesystem::file_size(one) != std::filesystem::file_size(other)) return false;
  while (a && b) {
    a.read(from_a.data(), static_cast<std::streamsize>(from_a.size()));
    b.read(from_b.data(), static_cast<std::streamsize>(from_b.size()));
    if (a.gcount() != b.gcount()) return false;
    if (std::memcmp(from_a.data(), from_b.data(), static_cast<std::size_t>(a.gcount())) != 0) return false;
  }
  return true;
}

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
      write_with_pnetcdf(file, path, contender == Contender::pnetcdf_blocking ? PnetcdfCalls::blocking : PnetcdfCalls::nonblocking);
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
