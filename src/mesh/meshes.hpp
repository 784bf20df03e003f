// SPDX-License-Identifier: BSD-3-Clause
//
// Meshes as values: what one rank has of each, and all that is wrong with it.
//
// Arrays over dimensions have the slowest first; points and bounding boxes have x first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/type.hpp"

namespace glean::mesh {

// x, y, z of each, side by side.
struct PointList {
  Type type = Type::float64;      // or float32
  std::vector<std::byte> bytes;
  [[nodiscard]] std::uint64_t count() const { return bytes.size() / (3 * size_of(type)); }
  [[nodiscard]] double at(std::uint64_t point, int component) const;
};

struct UniformGrid {
  Shape shape;                    // cells
  std::vector<double> origin;
  std::vector<double> spacing;
  std::vector<Box> blocks;        // of cells
};

struct RectilinearGrid {
  std::vector<std::vector<double>> coordinates;   // of points along each dimension
  std::vector<Box> blocks;
  [[nodiscard]] Shape shape() const;              // cells
};

struct CurvilinearGrid {
  Shape shape;
  std::vector<Box> blocks;
  PointList points;               // of one block after the other, one more than cells in each dimension
};

struct UnstructuredMesh {
  PointList points;
  std::vector<std::uint8_t> types;
  std::vector<std::int64_t> offsets;        // one more than types
  std::vector<std::int64_t> connectivity;   // of points of this rank
};

struct AmrBlock {
  int level = 1;
  std::int64_t parent = -1;
  std::vector<double> lower, upper;
};

struct AmrGrid {
  std::uint64_t blocks_total = 0;
  std::uint64_t first_block = 0;
  std::vector<AmrBlock> blocks;
  Shape cells_per_block;
};

using Mesh = std::variant<UniformGrid, RectilinearGrid, CurvilinearGrid, UnstructuredMesh, AmrGrid>;

// Sentences, one for each of the first few defects of a kind, and one that counts the others of it; none if there are none. Local.
[[nodiscard]] std::vector<std::string> flaws_of(const UniformGrid& grid);
[[nodiscard]] std::vector<std::string> flaws_of(const RectilinearGrid& grid);
[[nodiscard]] std::vector<std::string> flaws_of(const CurvilinearGrid& grid);
[[nodiscard]] std::vector<std::string> flaws_of(const UnstructuredMesh& mesh);
[[nodiscard]] std::vector<std::string> flaws_of(const AmrGrid& grid);

// Offsets of cells whose types all have a fixed number of points. Types without one count as having none. Local.
[[nodiscard]] std::vector<std::int64_t> offsets_of(const std::vector<std::uint8_t>& types);

// Of a box of cells. Local.
[[nodiscard]] Box points_of(const Box& cells);
// Those of them that the block itself puts: all but the last of each dimension, which the next block has, unless the grid of that shape
// ends there. Local.
[[nodiscard]] Box own_points_of(const Box& cells, const Shape& shape);

}  // namespace glean::mesh
