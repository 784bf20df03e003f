// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <pnetcdf.h>

#include <memory>
#include <stdexcept>

#include "unmodified/cases.hpp"

namespace glean::benchmarks {
namespace {

constexpr MPI_Offset row_length = 4096;

// Which elements of a file are this rank's, as the degrees of freedom of a mesh that a partitioner has cut; and a number for each.
struct Scattered {
  Scattered(const Ranks& ranks, int elements, int owners) : elements(elements) {
    for (int i = 0; i < elements; ++i) {
      const std::uint32_t owner = (static_cast<std::uint32_t>(i) * 2654435761u >> 16) % static_cast<std::uint32_t>(owners);
      if (owner != static_cast<std::uint32_t>(ranks.rank())) continue;
      places.push_back(i);
      numbers.push_back(i + 0.5);
    }
  }
  int elements;
  std::vector<int> places;
  std::vector<double> numbers;
};

void check(int status) {
  if (status != 0) throw std::runtime_error("a call on a file of small pieces has failed");
}

// One collective write of all of them.
void write_with_mpiio(const Scattered& mine, const std::string& path) {
  const int count = static_cast<int>(mine.places.size());
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(count, 1, mine.places.data(), MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  check(MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
  check(MPI_File_write_at_all(file, 0, mine.numbers.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE));
  check(MPI_File_close(&file));
  MPI_Type_free(&type);
}

// As E3SM's output layer does: a request of many subarrays, waited for together.
void write_with_pnetcdf(const Scattered& mine, const std::string& path) {
  int file = -1, dimensions[2] = {}, variable = -1;
  check(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  check(ncmpi_def_dim(file, "rows", (mine.elements + row_length - 1) / row_length, &dimensions[0]));
  check(ncmpi_def_dim(file, "columns", row_length, &dimensions[1]));
  check(ncmpi_def_var(file, "values", NC_DOUBLE, 2, dimensions, &variable));
  check(ncmpi_enddef(file));
  std::vector<MPI_Offset> where;
  where.reserve(2 * mine.places.size());
  for (const int place : mine.places) where.insert(where.end(), {place / row_length, place % row_length});
  std::vector<MPI_Offset*> starts;
  for (std::size_t i = 0; i < mine.places.size(); ++i) starts.push_back(&where[2 * i]);
  check(ncmpi_iput_varn_double(file, variable, static_cast<int>(starts.size()), starts.data(), nullptr, mine.numbers.data(), nullptr));
  check(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr));
  check(ncmpi_close(file));
}

}  // namespace

std::vector<Case> piece_cases(const Ranks& ranks, bool quick) {
  std::vector<Case> cases;
  const auto add = [&](std::string name, const std::shared_ptr<const Scattered>& mine, auto write) -> Case& {
    Case one;
    one.name = std::move(name);
    one.files = {"pieces"};
    one.bytes = static_cast<std::uint64_t>(mine->elements) * sizeof(double);
    one.run = [mine, write](const std::string& directory) { write(*mine, directory + "/pieces"); };
    cases.push_back(std::move(one));
    return cases.back();
  };
  for (const int elements : {50'000, 1'000'000, 4'000'000}) {
    const int number = quick ? elements / 1000 : elements;
    const auto whole = std::make_shared<const Scattered>(ranks, number, ranks.count());
    const auto with_gaps = std::make_shared<const Scattered>(ranks, number, ranks.count() + 1);
    const std::string what = std::to_string(elements) + " doubles";
    add(what + ", MPI-IO", whole, write_with_mpiio);
    // What is in a gap of a new file, ROMIO decides: the file is there before.
    add(what + ", MPI-IO, with gaps", with_gaps, write_with_mpiio).prepare = [number](const std::string& directory) {
      make_file(directory + "/pieces", static_cast<std::uint64_t>(number) * sizeof(double));
    };
    if (elements <= 1'000'000) add(what + ", PnetCDF, one iput_varn", whole, write_with_pnetcdf);   // bare it takes minutes for more
  }
  return cases;
}

}  // namespace glean::benchmarks
