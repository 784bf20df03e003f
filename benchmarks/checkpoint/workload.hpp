// SPDX-License-Identifier: BSD-3-Clause
//
// What two simulations write, as values: the files, their arrays, and this rank's part of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace glean::benchmarks {

struct Dimension {
  std::string name;
  std::uint64_t length;
};

struct Array {
  std::string name;
  std::vector<int> dimensions;   // of its file
  glean::Type external;
  glean::Type memory;
  glean::Box mine;               // one block, which may be empty
  const void* data;              // contiguous, in the order of the block
};

struct File {
  std::string name;
  std::vector<Dimension> dimensions;
  std::vector<Array> arrays;
};

// A program's output: files that are written one after the other. Owns the data that the arrays point to.
struct Workload {
  std::string name;
  std::vector<File> files;
  std::vector<std::vector<double>> doubles;
  std::vector<std::vector<std::int32_t>> integers;
  [[nodiscard]] std::uint64_t bytes_of_all_ranks() const;
};

// A checkpoint and a plot file in FLASH's layout (seed 000, section 6.1): blocks of 16³ cells, 10 variables in
// double precision in the checkpoint, three of them in single precision in the plot file, and the mesh in both. What is
// in a block does not depend on whose it is.
[[nodiscard]] Workload flash(int rank, int ranks, std::uint64_t blocks_per_rank);

// Restart files in S3D's layout (seed 000): 22×36×22 cells per rank on a global 3-D grid, of which every rank holds
// a brick; 11 species, 3 components of velocity, pressure and temperature in double precision.
[[nodiscard]] Workload s3d(int rank, int ranks, int dumps);

}  // namespace glean::benchmarks
