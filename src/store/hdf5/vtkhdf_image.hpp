// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of VTKHDF files (docs/formats/vtkhdf.md): one step of a mesh with refinement, of cells without structure, or of an image.
// Version 1.0, which all readers take.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mesh/type.hpp"
#include "store/format/file_image.hpp"

namespace glean::store {

inline constexpr char vtkhdf_format[] = "vtkhdf";

struct VtkhdfField {
  std::string name;
  mesh::Type external = mesh::Type::float64;
};

// First and last cell along x, y, z, from the origin on.
using VtkhdfBox = std::array<std::int32_t, 6>;

struct VtkhdfLevel {
  std::array<double, 3> spacing{};   // width of a cell
  std::vector<VtkhdfBox> boxes;      // at least one: ParaView 5.11 ends at a level without any
};

struct VtkhdfAmr {
  std::array<double, 3> origin{};
  std::vector<VtkhdfLevel> levels;   // from the coarsest on
  std::vector<VtkhdfField> fields;   // of cells: of each box of the level, one behind the other
  std::optional<double> time;
};

// `Type` OverlappingAMR. Variables of the layout: of each level all fields. Local; of one thread at a time.
[[nodiscard]] FileImage make_vtkhdf_image(const VtkhdfAmr& amr);

// Cells of one kind, in one part. Variables of the layout: Points, Connectivity, Offsets, Types, and then the fields.
struct VtkhdfUnstructured {
  std::uint64_t points = 0, cells = 0;
  int points_per_cell = 8;
  std::vector<VtkhdfField> fields;   // of cells
  std::optional<double> time;
};

// `Type` UnstructuredGrid. Local; of one thread at a time.
[[nodiscard]] FileImage make_vtkhdf_image(const VtkhdfUnstructured& grid);

struct VtkhdfImageData {
  std::array<double, 3> origin{}, spacing{};
  std::vector<std::uint64_t> cells;   // along x, y, z: as many as there are dimensions
  std::vector<VtkhdfField> fields;    // of cells
  std::optional<double> time;
};

// `Type` ImageData. ParaView 5.11 cannot read values of its cells: it takes their number for that of the points.
[[nodiscard]] FileImage make_vtkhdf_image(const VtkhdfImageData& image);

}  // namespace glean::store
