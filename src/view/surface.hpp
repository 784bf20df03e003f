// SPDX-License-Identifier: BSD-3-Clause
//
// Meshes of cells without structure, and the surface of them that can be seen from outside, as triangles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "view/dataset.hpp"

namespace glean::view {

struct MeshField {
  std::string name;
  std::string units;
  int variable = 0;
  bool is_of_points = false;
  std::uint64_t components = 1;   // its last dimension
};

// Which variables say what the mesh is: as NetCDF and HDF5 have it, or VTKHDF.
struct UnstructuredGrid {
  std::string name;
  std::vector<int> points;          // x, y, z; or one of [points][3]
  int types = -1, offsets = -1, connectivity = -1;
  int parts[3] = {-1, -1, -1};      // of VTKHDF: numbers of points, cells, connectivity in each part; -1: one part
  std::vector<MeshField> fields;
};

// All of the file. Local.
[[nodiscard]] std::vector<UnstructuredGrid> find_unstructured(const Dataset& dataset);

struct Surface {
  std::vector<float> positions;           // x, y, z of each corner
  std::vector<std::uint32_t> triangles;   // three corners each
  std::vector<std::uint64_t> points;      // of the mesh, which each corner is
  std::vector<std::uint64_t> cells;       // of the mesh, which each corner belongs to
  std::uint64_t cells_of_mesh = 0, points_of_mesh = 0;
};

// Faces that only one cell has; of cells that are triangles or quadrilaterals all. Corners are not shared between faces of different cells,
// so that values of cells are sharp. Throws unsupported for meshes that are too large, io for those that cannot be. Blocks.
[[nodiscard]] Surface surface_of(const Dataset& dataset, const UnstructuredGrid& grid, std::uint64_t record);

// One number for each corner. Of several components the length.
[[nodiscard]] std::vector<float> values_on(const Dataset& dataset, const MeshField& field, std::uint64_t record, const Surface& surface);

}  // namespace glean::view
