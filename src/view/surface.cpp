// SPDX-License-Identifier: BSD-3-Clause
#include "view/surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_map>

#include "base/error.hpp"

namespace glean::view {
namespace {

constexpr std::uint64_t cells_max = 4'000'000;
constexpr std::uint64_t corners_max = 3'000'000;

// Faces of VTK's cells, by the numbers of their points; of triangles a fourth is -1.
using Face = std::array<int, 4>;
constexpr Face tetrahedron[] = {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {0, 3, 2, -1}};
constexpr Face voxel[] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
constexpr Face hexahedron[] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
constexpr Face wedge[] = {{0, 1, 2, -1}, {3, 5, 4, -1}, {0, 3, 4, 1}, {1, 4, 5, 2}, {2, 5, 3, 0}};
constexpr Face pyramid[] = {{0, 3, 2, 1}, {0, 1, 4, -1}, {1, 2, 4, -1}, {2, 3, 4, -1}, {3, 0, 4, -1}};
constexpr Face triangle[] = {{0, 1, 2, -1}};
constexpr Face pixel[] = {{0, 1, 3, 2}};
constexpr Face quadrilateral[] = {{0, 1, 2, 3}};

struct CellFaces {
  std::span<const Face> faces;
  bool is_flat = false;
};

CellFaces faces_of(int type) {
  switch (type) {
    case 5: return {triangle, true};
    case 8: return {pixel, true};
    case 9: return {quadrilateral, true};
    case 10: return {tetrahedron};
    case 11: return {voxel};
    case 12: case 72: return {hexahedron};   // of a Lagrange hexahedron its corners
    case 13: return {wedge};
    case 14: return {pyramid};
    default: return {};
  }
}

struct FaceKey {
  std::array<std::uint64_t, 4> points{};   // ascending
  friend bool operator==(const FaceKey&, const FaceKey&) = default;
};
struct FaceHash {
  std::size_t operator()(const FaceKey& key) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t point : key.points) hash = (hash ^ point) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return hash;
  }
};
struct FoundFace {
  std::array<std::uint64_t, 4> corners{};
  std::uint64_t cell = 0;
  int count = 3;
  bool is_inside = false;
};

// Tables of a mesh as whole numbers, parts joined.
struct Tables {
  std::vector<std::uint64_t> types, offsets, connectivity;   // offsets: one more than cells
  std::uint64_t points = 0;
};

std::vector<std::uint64_t> whole_numbers(const Dataset& dataset, int variable, std::uint64_t record) {
  const std::vector<double> values = dataset.all(variable, record);
  std::vector<std::uint64_t> numbers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 0 && values[i] < 9e15)) {
      const std::string& name = dataset.variable(variable).name;
      throw base::Error(base::Errc::io, fmt::format("the mesh cannot be shown: element {} of '{}' is {}", i, name, values[i]));
    }
    numbers[i] = static_cast<std::uint64_t>(values[i]);
  }
  return numbers;
}

// Numbers within parts become numbers of all.
void join_parts(const Dataset& dataset, const UnstructuredGrid& grid, Tables& tables) {
  const auto points = whole_numbers(dataset, grid.parts[0], 0), cells = whole_numbers(dataset, grid.parts[1], 0),
             ids = whole_numbers(dataset, grid.parts[2], 0);
  std::vector<std::uint64_t> offsets{0};
  std::uint64_t point = 0, id = 0, at = 0;
  for (std::size_t part = 0; part < points.size() && part < cells.size() && part < ids.size(); ++part) {
    if (at + cells[part] + 1 > tables.offsets.size() || id + ids[part] > tables.connectivity.size()) {
      throw base::Error(base::Errc::io, "the mesh cannot be shown: its parts have more cells than its tables");
    }
    for (std::uint64_t c = 1; c <= cells[part]; ++c) offsets.push_back(id + tables.offsets[at + c]);
    for (std::uint64_t i = id; i < id + ids[part]; ++i) tables.connectivity[i] += point;
    at += cells[part] + 1;
    id += ids[part];
    point += points[part];
  }
  tables.offsets = std::move(offsets);
}

Tables read_tables(const Dataset& dataset, const UnstructuredGrid& grid, std::uint64_t record) {
  if (const auto cells = mesh::elements_of(dataset.variable(grid.types).shape); cells > cells_max) {
    throw base::Error(base::Errc::unsupported, fmt::format("the mesh has {} cells, and at most {} are shown", cells, cells_max),
                      "ParaView shows larger ones");
  }
  Tables tables{whole_numbers(dataset, grid.types, record), whole_numbers(dataset, grid.offsets, record),
                whole_numbers(dataset, grid.connectivity, record), 0};
  tables.points = dataset.variable(grid.points.front()).shape.at(0);
  if (grid.parts[0] >= 0) join_parts(dataset, grid, tables);
  const auto is_point = [&](std::uint64_t point) { return point < tables.points; };
  const bool fits = tables.offsets.size() == tables.types.size() + 1 && std::is_sorted(tables.offsets.begin(), tables.offsets.end()) &&
                    tables.offsets.back() <= tables.connectivity.size() &&
                    std::all_of(tables.connectivity.begin(), tables.connectivity.end(), is_point);
  if (!fits) throw base::Error(base::Errc::io, "the mesh cannot be shown: its offsets and points do not fit its cells");
  return tables;
}

// In the order of the cells.
std::vector<FoundFace> outer_faces(const Tables& tables) {
  std::vector<FoundFace> faces;
  std::unordered_map<FaceKey, std::size_t, FaceHash> known;
  for (std::uint64_t cell = 0; cell < tables.types.size(); ++cell) {
    const CellFaces shape = faces_of(static_cast<int>(tables.types[cell]));
    const std::uint64_t first = tables.offsets[cell], points = tables.offsets[cell + 1] - first;
    for (const Face& face : shape.faces) {
      FoundFace found{.cell = cell, .count = face[3] < 0 ? 3 : 4};
      FaceKey key;
      key.points.fill(~std::uint64_t{0});
      bool is_whole = true;
      for (int i = 0; i < found.count; ++i) {
        const auto corner = static_cast<std::size_t>(face[static_cast<std::size_t>(i)]);
        is_whole = is_whole && corner < points;
        const auto at = static_cast<std::size_t>(i);
        if (is_whole) key.points[at] = found.corners[at] = tables.connectivity[first + corner];
      }
      if (!is_whole) continue;
      if (shape.is_flat) {
        faces.push_back(found);
        continue;
      }
      std::sort(key.points.begin(), key.points.end());
      const auto [at, is_new] = known.emplace(key, faces.size());
      if (is_new) faces.push_back(found);
      else faces[at->second].is_inside = true;
    }
  }
  std::erase_if(faces, [](const FoundFace& face) { return face.is_inside; });
  return faces;
}

std::vector<float> positions_of(const Dataset& dataset, const UnstructuredGrid& grid, std::uint64_t record, const Surface& surface) {
  std::vector<float> positions(surface.points.size() * 3);
  for (std::size_t p = 0; p < grid.points.size(); ++p) {
    const std::vector<double> given = dataset.all(grid.points[p], record);
    const std::size_t width = grid.points.size() == 1 ? 3 : 1;
    if (given.size() < width * surface.points_of_mesh) {
      throw base::Error(base::Errc::io, "the mesh cannot be shown: points lack coordinates");
    }
    for (std::size_t i = 0; i < surface.points.size(); ++i) {
      for (std::size_t axis = 0; axis < width; ++axis) {
        positions[3 * i + p + axis] = static_cast<float>(given[surface.points[i] * width + axis]);
      }
    }
  }
  return positions;
}

}  // namespace

Surface surface_of(const Dataset& dataset, const UnstructuredGrid& grid, std::uint64_t record) {
  const Tables tables = read_tables(dataset, grid, record);
  Surface surface;
  surface.cells_of_mesh = tables.types.size();
  surface.points_of_mesh = tables.points;
  for (const FoundFace& face : outer_faces(tables)) {
    const auto first = static_cast<std::uint32_t>(surface.points.size());
    if (first + 4 > corners_max) throw base::Error(base::Errc::unsupported, "the surface of the mesh has too many faces to be shown");
    for (int i = 0; i < face.count; ++i) {
      surface.points.push_back(face.corners[static_cast<std::size_t>(i)]);
      surface.cells.push_back(face.cell);
    }
    for (std::uint32_t i = 2; i < static_cast<std::uint32_t>(face.count); ++i) {
      surface.triangles.insert(surface.triangles.end(), {first, first + i - 1, first + i});
    }
  }
  surface.positions = positions_of(dataset, grid, record, surface);
  return surface;
}

std::vector<float> values_on(const Dataset& dataset, const MeshField& field, std::uint64_t record, const Surface& surface) {
  const std::vector<double> given = dataset.all(field.variable, record);
  const std::vector<std::uint64_t>& where = field.is_of_points ? surface.points : surface.cells;
  std::vector<float> values(where.size());
  for (std::size_t i = 0; i < where.size(); ++i) {
    const std::uint64_t first = where[i] * field.components;
    double sum = 0;
    if (first + field.components > given.size()) continue;
    if (field.components == 1) sum = given[first];
    for (std::uint64_t c = 0; c < field.components && field.components > 1; ++c) sum += given[first + c] * given[first + c];
    values[i] = static_cast<float>(field.components == 1 ? sum : std::sqrt(sum));
  }
  return values;
}

namespace {

bool is_number(const DatasetVariable& variable) { return variable.type != mesh::Type::text; }

// NAME_x, NAME_types, NAME_offsets, NAME_connectivity (docs/meshes.md).
void find_ugrid(const Dataset& dataset, std::vector<UnstructuredGrid>& grids) {
  constexpr std::string_view behind = "_connectivity";
  for (std::size_t v = 0; v < dataset.variables().size(); ++v) {
    const std::string& name = dataset.variables()[v].name;
    if (!name.ends_with(behind)) continue;
    UnstructuredGrid grid;
    grid.name = name.substr(0, name.size() - behind.size());
    grid.connectivity = static_cast<int>(v);
    const auto types = dataset.find(grid.name + "_types"), offsets = dataset.find(grid.name + "_offsets");
    for (const char* axis : {"_x", "_y", "_z"}) {
      if (const auto found = dataset.find(grid.name + axis)) grid.points.push_back(*found);
    }
    if (!types || !offsets || grid.points.size() != 3) continue;
    grid.types = *types;
    grid.offsets = *offsets;
    const mesh::Shape& cell_shape = dataset.variable(*types).shape;
    const mesh::Shape& point_shape = dataset.variable(grid.points[0]).shape;
    if (cell_shape.size() != 1 || point_shape.size() != 1) continue;
    for (std::size_t f = 0; f < dataset.variables().size(); ++f) {
      const DatasetVariable& each = dataset.variables()[f];
      if (!is_number(each) || each.name.starts_with(grid.name + "_") || each.shape.empty() || each.shape.size() > 2) continue;
      const auto location = dataset.text(static_cast<int>(f), "location");
      const bool is_of_points = location ? *location == "node" : each.shape[0] != cell_shape[0];
      if (each.shape[0] != (is_of_points ? point_shape : cell_shape)[0]) continue;
      grid.fields.push_back({each.name, dataset.text(static_cast<int>(f), "units").value_or(""), static_cast<int>(f), is_of_points,
                             each.shape.size() == 2 ? each.shape[1] : 1});
    }
    if (!grid.fields.empty()) grids.push_back(std::move(grid));
  }
}

void find_vtkhdf(const Dataset& dataset, std::vector<UnstructuredGrid>& grids) {
  const auto points = dataset.find("VTKHDF/Points"), types = dataset.find("VTKHDF/Types"), offsets = dataset.find("VTKHDF/Offsets"),
             connectivity = dataset.find("VTKHDF/Connectivity");
  if (!points || !types || !offsets || !connectivity || dataset.variable(*points).shape.size() != 2) return;
  UnstructuredGrid grid{"mesh", {*points}, *types, *offsets, *connectivity, {-1, -1, -1}, {}};
  const char* counts[] = {"VTKHDF/NumberOfPoints", "VTKHDF/NumberOfCells", "VTKHDF/NumberOfConnectivityIds"};
  for (std::size_t i = 0; i < 3; ++i) grid.parts[i] = dataset.find(counts[i]).value_or(-1);
  if (std::count(std::begin(grid.parts), std::end(grid.parts), -1) != 0) return;
  for (std::size_t f = 0; f < dataset.variables().size(); ++f) {
    const DatasetVariable& each = dataset.variables()[f];
    const bool is_of_points = each.name.starts_with("VTKHDF/PointData/");
    if (!is_number(each) || each.shape.empty() || each.shape.size() > 2) continue;
    if (!is_of_points && !each.name.starts_with("VTKHDF/CellData/")) continue;
    grid.fields.push_back({each.name.substr(each.name.rfind('/') + 1), dataset.text(static_cast<int>(f), "units").value_or(""),
                           static_cast<int>(f), is_of_points, each.shape.size() == 2 ? each.shape[1] : 1});
  }
  if (!grid.fields.empty()) grids.push_back(std::move(grid));
}

}  // namespace

std::vector<UnstructuredGrid> find_unstructured(const Dataset& dataset) {
  std::vector<UnstructuredGrid> grids;
  find_ugrid(dataset, grids);
  find_vtkhdf(dataset, grids);
  return grids;
}

}  // namespace glean::view
