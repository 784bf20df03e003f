// SPDX-License-Identifier: BSD-3-Clause
#include "convert/block_cells.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace glean::convert {
namespace {

constexpr std::uint8_t vtk_cell_types[] = {3, 9, 12};   // line, quadrilateral, hexahedron

using Index = std::array<std::uint64_t, 3>;

// Where the corners of a cell are, in the order in which VTK has them.
constexpr Index vtk_corners[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// x fastest.
template <class Visit>
void for_each_index(const Index& counts, Visit visit) {
  for (std::uint64_t k = 0; k < counts[2]; ++k) {
    for (std::uint64_t j = 0; j < counts[1]; ++j) {
      for (std::uint64_t i = 0; i < counts[0]; ++i) visit(Index{i, j, k});
    }
  }
}

Index point_counts(const mesh::BlockMesh& mesh) {
  Index counts{1, 1, 1};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(mesh.dimensions); ++axis) counts[axis] = mesh.cells[axis] + 1;
  return counts;
}

// Of positions, so that blocks beside each other have the same corners whatever the precision of their bounds.
std::vector<std::byte> points_of(const Blocks& blocks, std::size_t block) {
  std::vector<double> points;
  for_each_index(point_counts(blocks.mesh), [&](const Index& index) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (axis >= blocks.mesh.dimensions) {
        points.push_back(0);
        continue;
      }
      const double in_block = static_cast<double>(index[a]) / static_cast<double>(blocks.mesh.cells[a]);
      const double from_lower = static_cast<double>(blocks.positions.of_block[block][a]) + in_block;
      points.push_back(blocks.positions.lower[a] + from_lower * blocks.positions.width(blocks.mesh.levels[block], axis));
    }
  });
  return bytes_of(points);
}

std::vector<std::byte> connectivity_of(const mesh::BlockMesh& mesh, std::uint64_t first_point) {
  const Index points = point_counts(mesh);
  std::vector<std::int64_t> ids;
  for_each_index({mesh.cells[0], mesh.cells[1], mesh.cells[2]}, [&](const Index& cell) {
    for (int corner = 0; corner < mesh.children_per_block(); ++corner) {
      const Index& at = vtk_corners[corner];
      const std::uint64_t point = (cell[0] + at[0]) + points[0] * ((cell[1] + at[1]) + points[1] * (cell[2] + at[2]));
      ids.push_back(static_cast<std::int64_t>(first_point + point));
    }
  });
  return bytes_of(ids);
}

// Of the cells of a part; the last part has the end of the last cell too.
std::vector<std::byte> offsets_of(std::size_t part, std::size_t parts, std::uint64_t cells, int corners) {
  std::vector<std::int64_t> offsets;
  const std::uint64_t end = (part + 1) * cells + (part + 1 == parts ? 1 : 0);
  for (std::uint64_t cell = part * cells; cell < end; ++cell) offsets.push_back(static_cast<std::int64_t>(cell) * corners);
  return bytes_of(offsets);
}

}  // namespace

std::vector<std::size_t> blocks_without_covered(const Blocks& blocks) {
  const auto of_each = static_cast<std::size_t>(blocks.mesh.children_per_block());
  std::vector<std::size_t> shown;
  for (std::size_t block = 0; block < blocks.mesh.blocks(); ++block) {
    bool is_covered = true;
    for (std::size_t child = 0; child < of_each; ++child)
      is_covered = is_covered && blocks.relations.children[block * of_each + child] >= 0;
    if (!is_covered) shown.push_back(block);
  }
  return shown;
}

BlockCells cells_of_blocks(const Blocks& blocks, const std::vector<std::size_t>& which) {
  const mesh::BlockMesh& mesh = blocks.mesh;
  const Index points = point_counts(mesh);
  const std::uint64_t points_each = points[0] * points[1] * points[2], cells_each = mesh.cells_per_block();
  const int corners = mesh.children_per_block();   // a cell has as many corners as a block has children
  const std::size_t parts = which.size();
  const auto shown = std::make_shared<const std::vector<std::size_t>>(which);
  BlockCells cells{parts * points_each, parts * cells_each, corners, {}};
  const auto add = [&](std::function<std::vector<std::byte>(std::size_t)> make) { cells.arrays.push_back({0, parts, std::move(make)}); };
  add([&blocks, shown](std::size_t part) { return points_of(blocks, (*shown)[part]); });
  add([&mesh, points_each](std::size_t part) { return connectivity_of(mesh, part * points_each); });
  add([parts, cells_each, corners](std::size_t part) { return offsets_of(part, parts, cells_each, corners); });
  add([&mesh, cells_each](std::size_t) { return bytes_of(std::vector<std::uint8_t>(cells_each, vtk_cell_types[mesh.dimensions - 1])); });
  add([&mesh, shown, cells_each](std::size_t part) {
    return bytes_of(std::vector<std::int32_t>(cells_each, mesh.levels[(*shown)[part]]));
  });
  return cells;
}

}  // namespace glean::convert
