// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/vtkhdf_image.hpp"

#include <string>
#include <utility>

#include "store/hdf5/placed_image.hpp"

namespace glean::store {
namespace {

constexpr char root[] = "VTKHDF";

void write_root(const PlacedFile& file, const std::string& type) {
  constexpr std::int64_t version[] = {1, 0};
  file.group(root);
  file.attribute(root, "Version", H5T_STD_I64LE, {2}, H5T_NATIVE_INT64, version);
  file.text(root, "Type", type);
}

void write_reals(const PlacedFile& file, const std::string& path, const char* name, const std::vector<double>& values) {
  file.attribute(path, name, H5T_IEEE_F64LE, {values.size()}, H5T_NATIVE_DOUBLE, values.data());
}

// Readers open all three groups, and 5.11 complains of one that is not there.
void write_groups(const PlacedFile& file, const std::string& path, const std::optional<double>& time) {
  for (const char* group : {"CellData", "PointData", "FieldData"}) file.group(path + '/' + group);
  if (time) file.table(path + "/FieldData/TimeValue", H5T_IEEE_F64LE, {1}, H5T_NATIVE_DOUBLE, &*time);
}

std::uint64_t cells_of(const VtkhdfLevel& level) {
  std::uint64_t cells = 0;
  for (const VtkhdfBox& box : level.boxes) {
    std::uint64_t of_box = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) of_box *= static_cast<std::uint64_t>(box[2 * axis + 1] - box[2 * axis]) + 1;
    cells += of_box;
  }
  return cells;
}

void add_variable(FileLayout& layout, const VtkhdfField& field, mesh::Shape shape) {
  VariableLayout& variable = layout.variables.emplace_back();
  variable.name = field.name;
  variable.external = field.external;
  variable.shape = std::move(shape);
}

}  // namespace

FileImage make_vtkhdf_image(const VtkhdfAmr& amr) {
  FileLayout layout;
  layout.format = vtkhdf_format;
  for (const VtkhdfLevel& level : amr.levels) {
    for (const VtkhdfField& field : amr.fields) add_variable(layout, field, {cells_of(level)});
  }
  return make_placed_image(std::move(layout), [&](const PlacedFile& file) {
    write_root(file, "OverlappingAMR");
    write_reals(file, root, "Origin", {amr.origin.begin(), amr.origin.end()});
    file.text(root, "GridDescription", "XYZ");
    std::size_t variable = 0;
    for (std::size_t l = 0; l < amr.levels.size(); ++l) {
      const VtkhdfLevel& level = amr.levels[l];
      const std::string path = std::string(root) + "/Level" + std::to_string(l);
      file.group(path);
      write_reals(file, path, "Spacing", {level.spacing.begin(), level.spacing.end()});
      file.table(path + "/AMRBox", H5T_STD_I32LE, {level.boxes.size(), 6}, H5T_NATIVE_INT32, level.boxes.data());
      write_groups(file, path, amr.time);
      for (const VtkhdfField& field : amr.fields) file.data(path + "/CellData/" + field.name, variable++);
    }
  });
}

FileImage make_vtkhdf_image(const VtkhdfUnstructured& grid) {
  FileLayout layout;
  layout.format = vtkhdf_format;
  const std::uint64_t ids = grid.cells * static_cast<std::uint64_t>(grid.points_per_cell);
  const std::pair<VtkhdfField, mesh::Shape> geometry[] = {{{"Points", mesh::Type::float64}, {grid.points, 3}},
                                                          {{"Connectivity", mesh::Type::int64}, {ids}},
                                                          {{"Offsets", mesh::Type::int64}, {grid.cells + 1}},
                                                          {{"Types", mesh::Type::uint8}, {grid.cells}}};
  for (const auto& [array, shape] : geometry) add_variable(layout, array, shape);
  for (const VtkhdfField& field : grid.fields) add_variable(layout, field, {grid.cells});
  return make_placed_image(std::move(layout), [&](const PlacedFile& file) {
    write_root(file, "UnstructuredGrid");
    const std::pair<const char*, std::uint64_t> counts[] = {{"NumberOfPoints", grid.points},
                                                            {"NumberOfCells", grid.cells},
                                                            {"NumberOfConnectivityIds", ids}};
    for (const auto& [name, count] : counts) file.table(std::string(root) + '/' + name, H5T_STD_I64LE, {1}, H5T_NATIVE_INT64, &count);
    std::size_t variable = 0;
    for (const auto& each : geometry) file.data(std::string(root) + '/' + each.first.name, variable++);
    write_groups(file, root, grid.time);
    for (const VtkhdfField& field : grid.fields) file.data(std::string(root) + "/CellData/" + field.name, variable++);
  });
}

FileImage make_vtkhdf_image(const VtkhdfImageData& image) {
  FileLayout layout;
  layout.format = vtkhdf_format;
  std::vector<std::int64_t> extent(6, 0);   // of points
  for (std::size_t axis = 0; axis < image.cells.size(); ++axis) extent[2 * axis + 1] = static_cast<std::int64_t>(image.cells[axis]);
  for (const VtkhdfField& field : image.fields) add_variable(layout, field, {image.cells.rbegin(), image.cells.rend()});
  return make_placed_image(std::move(layout), [&](const PlacedFile& file) {
    write_root(file, "ImageData");
    file.attribute(root, "WholeExtent", H5T_STD_I64LE, {6}, H5T_NATIVE_INT64, extent.data());
    write_reals(file, root, "Origin", {image.origin.begin(), image.origin.end()});
    write_reals(file, root, "Spacing", {image.spacing.begin(), image.spacing.end()});
    write_reals(file, root, "Direction", {1, 0, 0, 0, 1, 0, 0, 0, 1});
    write_groups(file, root, image.time);
    for (std::size_t i = 0; i < image.fields.size(); ++i) file.data(std::string(root) + "/CellData/" + image.fields[i].name, i);
  });
}

}  // namespace glean::store
