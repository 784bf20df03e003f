// SPDX-License-Identifier: BSD-3-Clause
#include "session/mesh_values.hpp"

#include <array>
#include <string>

#include "base/error.hpp"
#include "capture/copy.hpp"
#include "mesh/cells.hpp"

namespace glean::session {
namespace {

static_assert(static_cast<std::uint8_t>(CellType::lagrange_hexahedron) == mesh::lagrange_hexahedron_cell);
static_assert(static_cast<int>(Centring::points) == static_cast<int>(mesh::Centring::points));

std::vector<mesh::Box> boxes_of(const std::vector<Box>& blocks) {
  std::vector<mesh::Box> boxes;
  for (const Box& block : blocks) boxes.push_back({block.start, block.count});
  return boxes;
}

mesh::PointList list_of(const Points& points) {
  const auto type = static_cast<mesh::Type>(points.type);
  if (type != mesh::Type::float32 && type != mesh::Type::float64) {
    throw base::Error(base::Errc::invalid_argument,
                      "points of a mesh have type " + std::string(mesh::name_of(type)) + ", not float32 or float64");
  }
  if (points.first == nullptr && points.count != 0) throw base::Error(base::Errc::invalid_argument, "points of a mesh have no address");
  mesh::PointList list{type, std::vector<std::byte>(points.count * 3 * mesh::size_of(type))};
  const std::array<std::uint64_t, 2> count{points.count, 3};
  const std::array<std::ptrdiff_t, 2> strides{points.point_stride, points.component_stride};
  capture::copy_elements({static_cast<const std::byte*>(points.first), mesh::size_of(type), count, strides}, 0, 3 * points.count,
                         list.bytes.data());
  return list;
}

}  // namespace

mesh::Mesh mesh_of(const UniformGrid& grid) { return mesh::UniformGrid{grid.shape, grid.origin, grid.spacing, boxes_of(grid.blocks)}; }

mesh::Mesh mesh_of(const RectilinearGrid& grid) { return mesh::RectilinearGrid{grid.coordinates, boxes_of(grid.blocks)}; }

mesh::Mesh mesh_of(const CurvilinearGrid& grid) {
  return mesh::CurvilinearGrid{grid.shape, boxes_of(grid.blocks), list_of(grid.points)};
}

mesh::Mesh mesh_of(const UnstructuredMesh& mesh) {
  mesh::UnstructuredMesh value{list_of(mesh.points), {}, {mesh.offsets.begin(), mesh.offsets.end()},
                               {mesh.connectivity.begin(), mesh.connectivity.end()}};
  for (const CellType type : mesh.types) value.types.push_back(static_cast<std::uint8_t>(type));
  if (value.offsets.empty()) value.offsets = mesh::offsets_of(value.types);
  return value;
}

mesh::Mesh mesh_of(const AmrGrid& grid) {
  mesh::AmrGrid value{grid.blocks_total, grid.first_block, {}, grid.cells_per_block};
  for (const AmrBlock& block : grid.blocks) value.blocks.push_back({block.level, block.parent, block.lower, block.upper});
  return value;
}

}  // namespace glean::session

namespace glean {

std::size_t v0::lagrange_hexahedron_point(std::size_t i, std::size_t j, std::size_t k, std::size_t order) {
  return mesh::lagrange_hexahedron_point(i, j, k, order);
}

}  // namespace glean
