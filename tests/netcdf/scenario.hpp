// SPDX-License-Identifier: BSD-3-Clause
//
// What a program writes into a NetCDF file, as a value, and three ways of writing it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/definitions.hpp"
#include "store/format/cdf/cdf.hpp"

namespace glean::test {

struct Put {
  int variable = 0;
  mesh::Box box;   // of one record
  mesh::Type memory = mesh::Type::float64;
  std::vector<std::byte> data;
};

struct Scenario {
  mesh::Definitions definitions;
  std::vector<std::vector<Put>> steps;   // puts of one variable and step do not overlap
  store::CdfVersion format = store::CdfVersion::cdf5;

  // Whether every element of the file is put or filled.
  [[nodiscard]] bool complete() const;
};

// Everything random. Equal seeds give equal scenarios.
[[nodiscard]] Scenario random_scenario(std::uint64_t seed);
// One variable for every memory type that can go into every external type of the format, with all edge values.
[[nodiscard]] Scenario every_pair_of_types(store::CdfVersion format, bool own_fill_values, std::uint64_t seed);
// Numbers of a type: the limits of all types and what is next to them, specials, and random bits.
[[nodiscard]] std::vector<std::byte> values_of(mesh::Type type, std::size_t count, std::uint64_t seed);

// PnetCDF's blocking collective calls; put number i is made by rank i % size. Returns how many puts of this rank
// had a value out of range.
int write_with_pnetcdf(MPI_Comm comm, const std::string& path, const Scenario& scenario);
// All of a variable in one record, as it is held in the file; `record` is ignored for fixed variables. What the file is too
// short for is zero. Local.
std::vector<std::byte> read_with_pnetcdf(const std::string& path, int variable, std::uint64_t record);
// store::PassthroughFile. Returns how many steps of this rank had a value out of range.
int write_with_passthrough(MPI_Comm comm, const std::string& path, const Scenario& scenario);
struct Written {
  int puts_out_of_range = 0;
  std::vector<base::Extent> extents;   // header, elements put, elements filled; they may overlap
};
// The format's image, converters and one pwrite per element: what a drain does, as simply as can be. Local.
Written write_plainly(const std::string& path, const Scenario& scenario);

}  // namespace glean::test
