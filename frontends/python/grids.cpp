// SPDX-License-Identifier: BSD-3-Clause
//
// One function for each kind of grid: arguments as the class of glean/_grids.py has them, and the grid's number.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "handle.hpp"

namespace glean::python {

namespace {

using Counts = std::vector<std::uint64_t>;
using Places = std::vector<double>;

int define_uniform_grid(OutputHandle& self, const Counts& shape, const Places& origin, const Places& spacing,
                        const std::vector<std::pair<Counts, Counts>>& blocks, const std::vector<std::string>& dimension_names) {
  UniformGrid grid{.shape = shape, .origin = origin, .spacing = spacing, .blocks = {}, .dimension_names = dimension_names};
  for (const auto& [start, count] : blocks) grid.blocks.push_back({start, count});
  return self.call([&](Output& output) { return output.define_grid(grid); }).id;
}

// The lists of what blocks have are equally long: _grids.py has checked it.
int define_amr_grid(OutputHandle& self, std::uint64_t blocks_total, std::uint64_t first_block, const Counts& cells_per_block,
                    const std::vector<int>& level, const std::vector<std::int64_t>& parent, const std::vector<Places>& lower,
                    const std::vector<Places>& upper) {
  AmrGrid grid{.blocks_total = blocks_total, .first_block = first_block, .blocks = {}, .cells_per_block = cells_per_block};
  for (std::size_t b = 0; b < level.size(); ++b) {
    grid.blocks.push_back({.level = level[b], .parent = parent.at(b), .lower = lower.at(b), .upper = upper.at(b)});
  }
  return self.call([&](Output& output) { return output.define_grid(grid); }).id;
}

}  // namespace

void bind_grids(nb::class_<OutputHandle>& output) {
  output.def("define_uniform_grid", define_uniform_grid, nb::arg("shape"), nb::arg("origin"), nb::arg("spacing"), nb::arg("blocks"),
             nb::arg("dimension_names"));
  output.def("define_amr_grid", define_amr_grid, nb::arg("blocks_total"), nb::arg("first_block"), nb::arg("cells_per_block"),
             nb::arg("level"), nb::arg("parent"), nb::arg("lower"), nb::arg("upper"));
}

}  // namespace glean::python
