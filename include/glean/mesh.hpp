// SPDX-License-Identifier: BSD-3-Clause
//
// What the data of an output mean: element types, parts of arrays, and the meshes that arrays belong to. docs/meshes.md shows each mesh.
// Included by glean/glean.hpp.
//
// A mesh is checked when Output::define_grid gets it, and all that is wrong with it is in one error. Its values are copied there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)

namespace glean {
inline namespace v0 {

enum class Type { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64, text };

// The element type of C++ as a Type. `char` is text; `signed char` is int8.
template <class T>
consteval Type type_of() {
  if constexpr (std::is_same_v<T, char>) return Type::text;
  else if constexpr (std::is_same_v<T, float>) return Type::float32;
  else if constexpr (std::is_same_v<T, double>) return Type::float64;
  else {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>, "not a type that files hold");
    constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Type>(2 * log2 + (std::is_signed_v<T> ? 0 : 1));
  }
}

// A part of an array: first index and extent in each dimension, slowest dimension first.
// The record dimension is never part of a Box: a step is a record.
struct Box {
  std::vector<std::uint64_t> start;
  std::vector<std::uint64_t> count;
  friend bool operator==(const Box&, const Box&) = default;
};

// What a variable on a grid has one value of.
enum class Centring { cells, points };

// Cells of equal size over the whole domain. Written as coordinate variables (cell centres) named
// like the dimensions.
struct UniformGrid {
  std::vector<std::uint64_t> shape;          // cells of the whole grid, slowest dimension first
  std::vector<double> origin;                // lower corner of the domain, same order
  std::vector<double> spacing;               // width of a cell, same order
  std::vector<Box> blocks;                   // what this rank holds; may be empty
  std::vector<std::string> dimension_names;  // empty: x; y, x; z, y, x
};

// As UniformGrid, with points at any distance: coordinates[d] has those along dimension d, ascending, one more than there are cells.
// The same on all ranks. Written as coordinate variables (cell centres, and their bounds) named like the dimensions.
struct RectilinearGrid {
  std::vector<std::vector<double>> coordinates;   // slowest dimension first
  std::vector<Box> blocks;                        // of cells: what this rank holds; may be empty
  std::vector<std::string> dimension_names;       // empty: x; y, x; z, y, x
};

// Where points are in memory: x, y, z of each, float or double, at any stride in elements. It only points there.
struct Points {
  Points() = default;
  // x, y, z, x, y, z, …
  Points(std::span<const double> xyz) : type(Type::float64), first(xyz.data()), count(xyz.size() / 3) {}
  Points(std::span<const float> xyz) : type(Type::float32), first(xyz.data()), count(xyz.size() / 3) {}
  Points(const std::vector<double>& xyz) : Points(std::span<const double>(xyz)) {}
  Points(const std::vector<float>& xyz) : Points(std::span<const float>(xyz)) {}
  // From one point to the next, and from x to y to z of one.
  template <class T>
  Points(const T* first_x, std::size_t points, std::ptrdiff_t from_point_to_point, std::ptrdiff_t from_x_to_y = 1)
      : type(type_of<T>()), first(first_x), count(points), point_stride(from_point_to_point), component_stride(from_x_to_y) {}

  Type type = Type::float64;
  const void* first = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t point_stride = 3;
  std::ptrdiff_t component_stride = 1;
};

// Hexahedra (quads, lines) in the order of an array, whose points lie anywhere.
struct CurvilinearGrid {
  std::vector<std::uint64_t> shape;               // cells of the whole grid, slowest dimension first; one to three
  std::vector<Box> blocks;                        // of cells: what this rank holds; may be empty
  Points points;                                  // of the blocks, one after the other: one more than cells in each dimension, row-major
  std::vector<std::string> dimension_names;       // empty: i; j, i; k, j, i
};

// The shape of a cell, and the order of its points. The numbers are VTK's.
enum class CellType : std::uint8_t {
  vertex = 1, poly_vertex = 2, line = 3, poly_line = 4, triangle = 5, triangle_strip = 6, polygon = 7, pixel = 8, quad = 9,
  tetra = 10, voxel = 11, hexahedron = 12, wedge = 13, pyramid = 14, pentagonal_prism = 15, hexagonal_prism = 16,
  lagrange_hexahedron = 72,   // of any order, the same along all three edges: (order + 1)^3 points
};

// Where a Lagrange hexahedron has the point that is the i-th along x, the j-th along y and the k-th along z, 0 to `order` each. Local.
[[nodiscard]] std::size_t lagrange_hexahedron_point(std::size_t i, std::size_t j, std::size_t k, std::size_t order);

// The points and cells of this rank; a rank may have none. Points that ranks share are points of each of them. The library numbers the
// points and cells of all ranks, by rank.
struct UnstructuredMesh {
  Points points;
  std::span<const CellType> types;                // of each cell
  // Cell c has the points connectivity[offsets[c]] to connectivity[offsets[c + 1] - 1], numbers of `points` from 0 on. One more offset than
  // cells; none at all where each cell type has a fixed number of points.
  std::span<const std::int64_t> offsets;
  std::span<const std::int64_t> connectivity;
};

// One block of a block-structured AMR mesh.
struct AmrBlock {
  int level = 1;
  std::int64_t parent = -1;       // index of the parent block in the whole mesh, -1: none
  std::vector<double> lower;      // bounding box, x first as in FLASH
  std::vector<double> upper;
};

// Block-structured AMR as FLASH has it: all blocks have the same number of
// cells; the array of a variable is [block][z][y][x]. Written with the variables `lrefine`,
// `parent` and `bndbox`.
struct AmrGrid {
  std::uint64_t blocks_total = 0;               // over all ranks
  std::uint64_t first_block = 0;                // index of this rank's first block
  std::vector<AmrBlock> blocks;                 // of this rank; may be empty
  std::vector<std::uint64_t> cells_per_block;   // slowest dimension first
};

}  // namespace v0
}  // namespace glean

#pragma GCC visibility pop
