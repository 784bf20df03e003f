// SPDX-License-Identifier: BSD-3-Clause
//
// A program that writes one file, as a value: random, and the same on all ranks for the same seed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace glean::test {

struct Attribute {
  std::string name;
  Type type = Type::text;
  std::vector<std::byte> values;
  std::size_t count = 0;
};

struct Part {
  Box box;          // of one record
  int rank = 0;     // that puts it
};

struct ProgramVariable {
  std::string name;
  Type external = Type::float64;
  Type memory = Type::float64;
  std::vector<int> dimensions;
  bool per_step = false;
  bool fill = false;
  std::vector<Part> parts;          // disjoint
  std::vector<Attribute> attributes;
  std::vector<bool> put_in_step;    // fixed variables are put in one step at most
  std::uint64_t seed = 0;           // of the values

  [[nodiscard]] std::vector<Part> of_rank(int rank) const;
};

struct Program {
  Format format = Format::cdf5;
  std::vector<std::uint64_t> dimensions;   // 0: unlimited
  std::vector<ProgramVariable> variables;
  std::vector<Attribute> attributes;
  std::uint64_t steps = 0;

  [[nodiscard]] std::vector<std::uint64_t> shape(const ProgramVariable& variable) const;
};

[[nodiscard]] Program random_program(std::uint64_t seed, int ranks);

// The elements of a box, row-major, in the variable's memory type.
[[nodiscard]] std::vector<std::byte> values_of(const Program& program, const ProgramVariable& variable,
                                               std::uint64_t step, const Box& box);
[[nodiscard]] std::size_t size_of(Type type);

// How the same data is given to the library.
enum class Way { blocks_at_once, boxes, halves, with_ghost_cells, transposed };
inline constexpr int ways = 5;

// Writes it through GLEAN. Collective.
void write_with_glean(Session& session, const std::string& path, const Program& program, std::uint64_t choice);
// Writes it with PnetCDF's own calls. Collective.
void write_with_pnetcdf(MPI_Comm comm, const std::string& path, const Program& program);

}  // namespace glean::test
