// SPDX-License-Identifier: BSD-3-Clause
//
// What a file means, as a value: blocks of a mesh with refinement, a uniform grid, or arrays.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/settings.hpp"
#include "convert/source.hpp"
#include "mesh/block_mesh.hpp"

namespace glean::convert {

// By the names of FLASH: our own blocks (glean::AmrGrid), or a file that FLASH has written with PnetCDF.
struct Blocks {
  mesh::BlockMesh mesh;
  mesh::BlockPositions positions;
  mesh::BlockRelations relations;
  // As the file has them; empty where it has not.
  std::vector<std::int32_t> gid, node_types, which_child, processors;
  std::optional<int> scalars, runtime_parameters;   // variables of the file: their attributes are FLASH's
};

// By coordinate variables: of one dimension each, named like it, and evenly spaced. They are the centres of cells.
struct UniformGrid {
  std::vector<std::uint64_t> cells;   // along x, y, z, as many as there are dimensions: the fastest first
  std::array<double, 3> origin{0, 0, 0}, spacing{1, 1, 1};
};

// Arrays. `why`: what is missing for more.
struct Arrays {
  std::vector<std::string> why;
};

struct Semantics {
  std::variant<Arrays, UniformGrid, Blocks> meaning;
  std::vector<int> mesh;     // variables that say what the mesh is
  std::vector<int> fields;   // variables that have values on it; of arrays all the others
  std::vector<int> others;   // variables that are neither
};

// Throws io, naming all that is wrong with a mesh at once, and not_found, naming all that is missing of what was asked for. Blocks.
[[nodiscard]] Semantics read_semantics(const Source& source, base::Semantics choice);

// The parts of it. Nothing, and why, where the file has no such thing.
[[nodiscard]] std::optional<Semantics> read_blocks(const Source& source, std::vector<std::string>& missing);
[[nodiscard]] std::optional<Semantics> read_uniform_grid(const Source& source, std::vector<std::string>& missing);
// Variables of one dimension that are named like it.
[[nodiscard]] std::vector<int> coordinate_variables(const mesh::Definitions& definitions);

// Of a step: by the coordinate of the unlimited dimension, or a variable or attribute `time`.
[[nodiscard]] std::optional<double> time_of(const Source& source, const Semantics& semantics, std::uint64_t record);

}  // namespace glean::convert
