// SPDX-License-Identifier: BSD-3-Clause
//
// Unstructured meshes.
#include <cmath>

#include "mesh/cells.hpp"
#include "mesh/flaws.hpp"
#include "mesh/meshes.hpp"

namespace glean::mesh {
namespace {

// False: which points a cell has cannot be known.
bool offsets_are_good(const UnstructuredMesh& mesh, Flaws& flaws) {
  const std::size_t cells = mesh.types.size();
  if (mesh.offsets.size() != cells + 1) {
    flaws.add("wrong numbers of offsets", "it has " + std::to_string(mesh.offsets.size()) + " offsets for " + std::to_string(cells) +
                                              " cells, not one more than cells");
    return false;
  }
  bool good = mesh.offsets.front() == 0;
  if (!good) flaws.add("first offsets that are not 0", "the first offset is " + std::to_string(mesh.offsets.front()) + ", not 0");
  for (std::size_t c = 0; c < cells; ++c) {
    if (mesh.offsets[c] <= mesh.offsets[c + 1]) continue;
    good = false;
    if (flaws.count("offsets that descend")) {
      flaws.add("offset " + std::to_string(c + 1) + " is " + std::to_string(mesh.offsets[c + 1]) + ", less than the one before, " +
                std::to_string(mesh.offsets[c]));
    }
  }
  if (mesh.offsets.back() != static_cast<std::int64_t>(mesh.connectivity.size())) {
    good = false;
    flaws.add("last offsets that are not the length of the connectivity",
              "its cells have " + std::to_string(mesh.offsets.back()) + " points by their offsets, and the connectivity has " +
                  std::to_string(mesh.connectivity.size()));
  }
  return good;
}

void look_at_types(const UnstructuredMesh& mesh, Flaws& flaws) {
  for (std::size_t c = 0; c < mesh.types.size(); ++c) {
    if (shape_of_cell(mesh.types[c]) || !flaws.count("cells of types that cannot be written")) continue;
    flaws.add("cell " + std::to_string(c) + " has type " + std::to_string(mesh.types[c]) + ", which cannot be written");
  }
}

void look_at_cells(const UnstructuredMesh& mesh, Flaws& flaws) {
  const auto points = static_cast<std::int64_t>(mesh.points.count());
  for (std::size_t c = 0; c < mesh.types.size(); ++c) {
    const std::int64_t begin = mesh.offsets[c], end = mesh.offsets[c + 1];
    if (const auto shape = shape_of_cell(mesh.types[c])) {
      const std::string wanted = points_wanted(mesh.types[c], *shape, static_cast<std::uint64_t>(end - begin));
      if (!wanted.empty() && flaws.count("cells with a wrong number of points")) {
        flaws.add("cell " + std::to_string(c) + " is a " + std::string(shape->name) + " and has " + std::to_string(end - begin) +
                  " points, not " + wanted);
      }
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t point = mesh.connectivity[static_cast<std::size_t>(i)];
      if ((point >= 0 && point < points) || !flaws.count("points of cells that are not there")) continue;
      flaws.add("cell " + std::to_string(c) + " has point " + std::to_string(point) + ", and this rank has points 0 to " +
                std::to_string(points - 1));
    }
  }
}

}  // namespace

std::vector<std::int64_t> offsets_of(const std::vector<std::uint8_t>& types) {
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(types.size() + 1);
  for (const std::uint8_t type : types) {
    const auto shape = shape_of_cell(type);
    offsets.push_back(offsets.back() + (shape && shape->is_fixed() ? static_cast<std::int64_t>(shape->least) : 0));
  }
  return offsets;
}

std::vector<std::string> flaws_of(const UnstructuredMesh& mesh) {
  Flaws flaws;
  look_at_types(mesh, flaws);
  if (offsets_are_good(mesh, flaws)) look_at_cells(mesh, flaws);
  for (std::uint64_t p = 0; p < mesh.points.count(); ++p) {
    for (int c = 0; c < 3; ++c) {
      if (std::isfinite(mesh.points.at(p, c)) || !flaws.count("coordinates that are not finite")) continue;
      flaws.add(std::string(1, "xyz"[c]) + " of point " + std::to_string(p) + " is not finite");
    }
  }
  return flaws.take();
}

}  // namespace glean::mesh
