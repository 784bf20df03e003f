// SPDX-License-Identifier: BSD-3-Clause
//
// One function for each kind of grid: arguments as the class of glean/_grids.py has them, and the grid's number.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array_view.hpp"
#include "handle.hpp"

namespace glean::python {

namespace {

using Counts = std::vector<std::uint64_t>;
using Places = std::vector<double>;
using Blocks = std::vector<std::pair<Counts, Counts>>;   // start and count of each
using Names = std::vector<std::string>;

std::vector<Box> boxes_of(const Blocks& blocks) {
  std::vector<Box> boxes;
  for (const auto& [start, count] : blocks) boxes.push_back({start, count});
  return boxes;
}

int define(OutputHandle& self, const auto& grid) {
  return self.call([&](Output& output) { return output.define_grid(grid); }).id;
}

int define_uniform_grid(OutputHandle& self, const Counts& shape, const Places& origin, const Places& spacing, const Blocks& blocks,
                        const Names& dimension_names) {
  return define(self, UniformGrid{shape, origin, spacing, boxes_of(blocks), dimension_names});
}

int define_rectilinear_grid(OutputHandle& self, const std::vector<Places>& coordinates, const Blocks& blocks,
                            const Names& dimension_names) {
  return define(self, RectilinearGrid{coordinates, boxes_of(blocks), dimension_names});
}

// Points where they lie. The array has the shape (points, 3): _grids.py makes it so.
struct PointArray {
  PointArray(int type_number, nb::handle array) : type(type_of_number(type_number)), view(array, type, ArrayView::For::reading) {}
  [[nodiscard]] Points points() const {
    Points all;
    all.type = type;
    all.first = view.first();
    all.count = view.shape()[0];
    all.point_stride = view.strides()[0];
    all.component_stride = view.strides()[1];
    return all;
  }

  Type type;
  ArrayView view;
};

int define_curvilinear_grid(OutputHandle& self, const Counts& shape, const Blocks& blocks, int points_type, nb::handle points,
                            const Names& dimension_names) {
  const PointArray array(points_type, points);
  return define(self, CurvilinearGrid{shape, boxes_of(blocks), array.points(), dimension_names});
}

int define_unstructured_mesh(OutputHandle& self, int points_type, nb::handle points, nb::handle types, nb::handle offsets,
                             nb::handle connectivity) {
  const PointArray array(points_type, points);
  const ArrayView of_types(types, Type::uint8, ArrayView::For::reading_in_order);
  const ArrayView of_offsets(offsets, Type::int64, ArrayView::For::reading_in_order);
  const ArrayView of_cells(connectivity, Type::int64, ArrayView::For::reading_in_order);
  // An enumeration of this underlying type is laid out as the type.
  return define(self, UnstructuredMesh{array.points(),
                                       {static_cast<const CellType*>(of_types.first()), of_types.elements()},
                                       {static_cast<const std::int64_t*>(of_offsets.first()), of_offsets.elements()},
                                       {static_cast<const std::int64_t*>(of_cells.first()), of_cells.elements()}});
}

// The lists of what blocks have are equally long: _grids.py has checked it.
int define_amr_grid(OutputHandle& self, std::uint64_t blocks_total, std::uint64_t first_block, const Counts& cells_per_block,
                    const std::vector<int>& level, const std::vector<std::int64_t>& parent, const std::vector<Places>& lower,
                    const std::vector<Places>& upper) {
  AmrGrid grid{.blocks_total = blocks_total, .first_block = first_block, .blocks = {}, .cells_per_block = cells_per_block};
  for (std::size_t b = 0; b < level.size(); ++b) {
    grid.blocks.push_back({.level = level[b], .parent = parent.at(b), .lower = lower.at(b), .upper = upper.at(b)});
  }
  return define(self, grid);
}

}  // namespace

void bind_grids(nb::class_<OutputHandle>& output) {
  output.def("define_uniform_grid", define_uniform_grid, nb::arg("shape"), nb::arg("origin"), nb::arg("spacing"), nb::arg("blocks"),
             nb::arg("dimension_names"));
  output.def("define_rectilinear_grid", define_rectilinear_grid, nb::arg("coordinates"), nb::arg("blocks"), nb::arg("dimension_names"));
  output.def("define_curvilinear_grid", define_curvilinear_grid, nb::arg("shape"), nb::arg("blocks"), nb::arg("points_type"),
             nb::arg("points"), nb::arg("dimension_names"));
  output.def("define_unstructured_mesh", define_unstructured_mesh, nb::arg("points_type"), nb::arg("points"), nb::arg("types"),
             nb::arg("offsets"), nb::arg("connectivity"));
  output.def("define_amr_grid", define_amr_grid, nb::arg("blocks_total"), nb::arg("first_block"), nb::arg("cells_per_block"),
             nb::arg("level"), nb::arg("parent"), nb::arg("lower"), nb::arg("upper"));
}

}  // namespace glean::python
