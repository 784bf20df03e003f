// SPDX-License-Identifier: BSD-3-Clause
#include "values.hpp"

#include <string>

#include "barrier.hpp"

namespace glean::c {
namespace {

// A C program can put any number into an enum.
template <class To>
To checked(int value, To last, const char* what) {
  if (value < 0 || value > static_cast<int>(last)) {
    throw Error(Errc::invalid_argument,
                "no " + std::string(what) + " has the number " + std::to_string(value));
  }
  return static_cast<To>(value);
}

// The numbers are the same in both interfaces, so that a cast is the conversion.
template <class C, class Cpp>
constexpr bool same(C c, Cpp cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}
static_assert(same(GLEAN_INT8, Type::int8) && same(GLEAN_UINT8, Type::uint8) &&
              same(GLEAN_INT16, Type::int16) && same(GLEAN_UINT16, Type::uint16) &&
              same(GLEAN_INT32, Type::int32) &&
              same(GLEAN_UINT32, Type::uint32) && same(GLEAN_INT64, Type::int64) &&
              same(GLEAN_UINT64, Type::uint64) && same(GLEAN_FLOAT32, Type::float32) &&
              same(GLEAN_FLOAT64, Type::float64) && same(GLEAN_TEXT, Type::text));
static_assert(same(GLEAN_CAPTURED, Level::captured) && same(GLEAN_STAGED, Level::staged) &&
              same(GLEAN_WRITTEN, Level::written) && same(GLEAN_DURABLE, Level::durable));
static_assert(same(GLEAN_CDF1, Format::cdf1) && same(GLEAN_CDF2, Format::cdf2) &&
              same(GLEAN_CDF5, Format::cdf5) && same(GLEAN_NPY, Format::npy) && same(GLEAN_HDF5, Format::hdf5) &&
              same(GLEAN_VTKHDF, Format::vtkhdf) && same(GLEAN_VTK, Format::vtk));
static_assert(same(GLEAN_CELLS, Centring::cells) && same(GLEAN_POINTS, Centring::points));
static_assert(same(GLEAN_VERTEX, CellType::vertex) && same(GLEAN_POLYGON, CellType::polygon) && same(GLEAN_TETRA, CellType::tetra) &&
              same(GLEAN_HEXAGONAL_PRISM, CellType::hexagonal_prism) &&
              same(GLEAN_LAGRANGE_HEXAHEDRON, CellType::lagrange_hexahedron));
static_assert(same(GLEAN_FILL_OFF, Fill::off) && same(GLEAN_FILL_ON, Fill::on));
static_assert(same(GLEAN_REPLACE, Existing::replace) && same(GLEAN_REFUSE, Existing::refuse));
static_assert(same(GLEAN_OUTPUT_OPEN, OutputState::open) && same(GLEAN_OUTPUT_DRAINING, OutputState::draining) &&
              same(GLEAN_OUTPUT_PUBLISHED, OutputState::published) &&
              same(GLEAN_OUTPUT_FAILED, OutputState::failed) &&
              same(GLEAN_OUTPUT_ABANDONED, OutputState::abandoned) &&
              same(GLEAN_OUTPUT_DROPPED, OutputState::dropped));
static_assert(same(GLEAN_READ_PUBLISHED, Reading::published) && same(GLEAN_READ_WRITTEN, Reading::written));
static_assert(status_of(Errc::invalid_argument) == GLEAN_INVALID_ARGUMENT &&
              status_of(Errc::invalid_state) == GLEAN_INVALID_STATE &&
              status_of(Errc::invalid_config) == GLEAN_INVALID_CONFIG &&
              status_of(Errc::overlap) == GLEAN_OVERLAP &&
              status_of(Errc::out_of_range) == GLEAN_OUT_OF_RANGE &&
              status_of(Errc::timeout) == GLEAN_TIMEOUT &&
              status_of(Errc::no_space) == GLEAN_NO_SPACE &&
              status_of(Errc::permission) == GLEAN_PERMISSION &&
              status_of(Errc::exists) == GLEAN_EXISTS && status_of(Errc::not_found) == GLEAN_NOT_FOUND &&
              status_of(Errc::io) == GLEAN_IO && status_of(Errc::unsupported) == GLEAN_UNSUPPORTED);

}  // namespace

Errc errc_of(glean_status status) {
  const int number = checked(static_cast<int>(status), GLEAN_INTERNAL, "status");
  if (number == GLEAN_OK) throw Error(Errc::invalid_argument, "an output cannot fail with GLEAN_OK");
  return number > GLEAN_UNSUPPORTED ? Errc::io : static_cast<Errc>(number - 1);
}
Type type_of(glean_type type) { return checked(static_cast<int>(type), Type::text, "type"); }
Level level_of(glean_level level) { return checked(static_cast<int>(level), Level::durable, "level"); }
Format format_of(glean_format format) { return checked(static_cast<int>(format), Format::vtk, "format"); }

OutputOptions options_of(const glean_output_options* options) {
  const glean_output_options known = sized(options, "options");
  return {.existing =
              checked(static_cast<int>(known.existing), Existing::refuse, "choice for existing files")};
}

InputOptions options_of(const glean_input_options* options) {
  const glean_input_options known = sized(options, "options");
  // Zero is the default of every member.
  return {.reading = checked(static_cast<int>(known.reading), Reading::written, "choice for reading"),
          .seconds = known.seconds > 0 ? known.seconds : -1};
}

VariableOptions options_of(const glean_variable_options* options) {
  const glean_variable_options known = sized(options, "options");
  return {.fill = checked(static_cast<int>(known.fill), Fill::on, "choice for filling"),
          .per_step = known.per_step != 0,
          .centring = checked(static_cast<int>(known.centring), Centring::points, "centring"),
          .components = known.components == 0 ? 1 : known.components};
}

std::vector<Box> boxes_of(const std::uint64_t* starts, const std::uint64_t* counts, std::size_t blocks,
                          std::size_t dimensions) {
  required_array(starts, blocks * dimensions, "block_start");
  required_array(counts, blocks * dimensions, "block_count");
  std::vector<Box> boxes(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    boxes[i].start.assign(starts + i * dimensions, starts + (i + 1) * dimensions);
    boxes[i].count.assign(counts + i * dimensions, counts + (i + 1) * dimensions);
  }
  return boxes;
}

namespace {

std::vector<std::string> names_of(const char* const* names, std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t d = 0; names != nullptr && d < count; ++d) texts.emplace_back(required(names[d], "dimension_names"));
  return texts;
}

// Without points the type need not be set.
Points points_of(const glean_points* points) {
  const glean_points given = sized(points, "points");
  Points known;
  if (given.count == 0) return known;
  known.type = type_of(given.type);
  known.first = required(given.first, "points.first");
  known.count = given.count;
  known.point_stride = given.point_stride == 0 ? 3 : given.point_stride;
  known.component_stride = given.component_stride == 0 ? 1 : given.component_stride;
  return known;
}

}  // namespace

UniformGrid grid_of(const glean_uniform_grid* description) {
  const glean_uniform_grid known = sized(required(description, "description"), "description");
  const std::size_t n = known.dimensions;
  required_array(known.shape, n, "shape");
  required_array(known.origin, n, "origin");
  required_array(known.spacing, n, "spacing");
  UniformGrid grid;
  grid.shape.assign(known.shape, known.shape + n);
  grid.origin.assign(known.origin, known.origin + n);
  grid.spacing.assign(known.spacing, known.spacing + n);
  grid.blocks = boxes_of(known.block_start, known.block_count, known.blocks, n);
  grid.dimension_names = names_of(known.dimension_names, n);
  return grid;
}

RectilinearGrid grid_of(const glean_rectilinear_grid* description) {
  const glean_rectilinear_grid known = sized(required(description, "description"), "description");
  const std::size_t n = known.dimensions;
  required_array(known.points, n, "points");
  required_array(known.coordinates, n, "coordinates");
  RectilinearGrid grid;
  for (std::size_t d = 0; d < n; ++d) {
    const double* along = required_array(known.coordinates[d], known.points[d], "coordinates");
    grid.coordinates.emplace_back(along, along + known.points[d]);
  }
  grid.blocks = boxes_of(known.block_start, known.block_count, known.blocks, n);
  grid.dimension_names = names_of(known.dimension_names, n);
  return grid;
}

CurvilinearGrid grid_of(const glean_curvilinear_grid* description) {
  const glean_curvilinear_grid known = sized(required(description, "description"), "description");
  const std::size_t n = known.dimensions;
  required_array(known.shape, n, "shape");
  return {{known.shape, known.shape + n},
          boxes_of(known.block_start, known.block_count, known.blocks, n),
          points_of(known.points),
          names_of(known.dimension_names, n)};
}

UnstructuredMesh grid_of(const glean_unstructured_mesh* description) {
  const glean_unstructured_mesh known = sized(required(description, "description"), "description");
  required_array(known.types, known.cells, "types");
  required_array(known.connectivity, known.connectivity_length, "connectivity");
  UnstructuredMesh mesh;
  mesh.points = points_of(known.points);
  // An enumeration of this underlying type is laid out as the type.
  mesh.types = {reinterpret_cast<const CellType*>(known.types), known.cells};
  if (known.offsets != nullptr) mesh.offsets = {known.offsets, known.cells + 1};
  mesh.connectivity = {known.connectivity, known.connectivity_length};
  return mesh;
}

AmrGrid grid_of(const glean_amr_grid* description) {
  const glean_amr_grid known = sized(required(description, "description"), "description");
  const std::size_t n = known.dimensions;
  required_array(known.cells_per_block, n, "cells_per_block");
  required_array(known.level, known.blocks, "level");
  required_array(known.parent, known.blocks, "parent");
  required_array(known.lower, known.blocks * n, "lower");
  required_array(known.upper, known.blocks * n, "upper");
  AmrGrid grid;
  grid.blocks_total = known.blocks_total;
  grid.first_block = known.first_block;
  grid.cells_per_block.assign(known.cells_per_block, known.cells_per_block + n);
  grid.blocks.resize(known.blocks);
  for (std::size_t i = 0; i < known.blocks; ++i) {
    grid.blocks[i] = {.level = known.level[i],
                      .parent = known.parent[i],
                      .lower = {known.lower + i * n, known.lower + (i + 1) * n},
                      .upper = {known.upper + i * n, known.upper + (i + 1) * n}};
  }
  return grid;
}

}  // namespace glean::c
