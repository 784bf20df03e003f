// SPDX-License-Identifier: BSD-3-Clause
//
// What a program has defined of an output, as a value: dimensions, variables, attributes and grids. No file format is in it; a format
// makes the metadata of a file of it (store/format/format.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/type.hpp"

namespace glean::mesh {

struct Attribute {
  int variable = -1;   // -1: of the output
  std::string name;
  Type type = Type::text;
  std::vector<std::byte> values;   // native byte order
  bool counts_records = false;     // one int64 of the output: the format writes how many records there are, if it can
  bool changes = false;            // it has values; others of this type and number may come until the output is closed
  [[nodiscard]] std::size_t count() const { return values.size() / size_of(type); }
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// The unlimited dimension counts steps: a variable that has it has one record in each step.
struct DimensionDefinition {
  std::string name;
  std::uint64_t length = 0;
  bool unlimited = false;
  friend bool operator==(const DimensionDefinition&, const DimensionDefinition&) = default;
};

// What a variable on a grid has one value of. Same order as glean::Centring.
enum class Centring : std::uint8_t { cells, points };

inline constexpr std::uint32_t most_components = 1u << 16;

struct VariableDefinition {
  std::string name;
  Type external = Type::float64;
  std::vector<int> dimensions;   // indices, slowest first; an unlimited one only in front
  bool fill = false;
  int grid = -1;                 // that it is defined on; -1: none
  Centring centring = Centring::cells;
  std::uint32_t components = 1;  // of a variable on a grid; if more than one, its last dimension
  friend bool operator==(const VariableDefinition&, const VariableDefinition&) = default;
};

enum class GridKind : std::uint8_t {
  uniform,        // cells of equal size
  amr,            // block-structured refinement: all blocks have as many cells, and the first dimension counts blocks
  rectilinear,    // the cells of an array, with planes of points at any distance
  curvilinear,    // the cells of an array, with points anywhere
  unstructured,   // cells of any shape; there is one dimension
};

struct GridDefinition {
  GridKind kind = GridKind::uniform;
  std::vector<int> dimensions;    // of a record of a variable of its cells, slowest first, without components
  // Variables, as far as the file has them. uniform: cell centres along each dimension; amr: level, parent and bounding box of each block;
  // rectilinear: points along each dimension; curvilinear: points; unstructured: points, cells, types of cells.
  std::vector<int> coordinates;
  std::vector<double> origin;     // uniform: lower corner and width of a cell, as `dimensions`
  std::vector<double> spacing;
  friend bool operator==(const GridDefinition&, const GridDefinition&) = default;
};

// In the order in which the program has defined them, which is the order in the file.
struct Definitions {
  std::vector<DimensionDefinition> dimensions;
  std::vector<VariableDefinition> variables;
  std::vector<Attribute> attributes;
  std::vector<GridDefinition> grids;

  [[nodiscard]] bool per_step(int variable) const;
  // The shape of one record.
  [[nodiscard]] Shape shape(int variable) const;

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made, or speaks of what is not defined.
  [[nodiscard]] static Definitions decode(std::span<const std::byte> bytes);
  // Equal on two ranks exactly if they defined the same; `origin` and `spacing` may differ: those of rank 0 count.
  [[nodiscard]] std::uint64_t fingerprint() const;
  friend bool operator==(const Definitions&, const Definitions&) = default;
};

}  // namespace glean::mesh
