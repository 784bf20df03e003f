// SPDX-License-Identifier: BSD-3-Clause
//
// Grids whose cells are those of an array: uniform, rectilinear, curvilinear.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "mesh/flaws.hpp"
#include "mesh/meshes.hpp"

namespace glean::mesh {
namespace {

constexpr char outside[] = "blocks that do not lie in the grid";
constexpr char twice[] = "pairs of blocks that overlap";
constexpr char not_finite[] = "coordinates that are not finite";

std::string text(const Shape& shape) {
  std::string all;
  for (const std::uint64_t length : shape) all += (all.empty() ? "" : ", ") + std::to_string(length);
  return "[" + all + "]";
}

bool lies_in(const Shape& shape, const Box& block) {
  return block.start.size() == shape.size() && block.count.size() == shape.size() && whole(shape).contains(block);
}

// Those that overlap begin before the other ends along the first dimension.
void look_at_overlaps(const std::vector<Box>& blocks, Flaws& flaws) {
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].empty() && !blocks[b].start.empty()) order.push_back(b);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return blocks[a].start[0] < blocks[b].start[0]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Box& block = blocks[order[i]];
    for (std::size_t j = i + 1; j < order.size() && blocks[order[j]].start[0] < block.start[0] + block.count[0]; ++j) {
      if (!block.intersects(blocks[order[j]]) || !flaws.count(twice)) continue;
      const auto [first, second] = std::minmax(order[i], order[j]);
      flaws.add("blocks " + std::to_string(first) + " " + to_string(blocks[first]) + " and " + std::to_string(second) + " " +
                to_string(blocks[second]) + " of this rank overlap");
    }
  }
}

void look_at_blocks(const Shape& shape, const std::vector<Box>& blocks, Flaws& flaws) {
  bool all_lie_in = true;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (lies_in(shape, blocks[b])) continue;
    all_lie_in = false;
    if (flaws.count(outside)) {
      flaws.add("block " + std::to_string(b) + " " + to_string(blocks[b]) + " does not lie in a grid of " + text(shape) + " cells");
    }
  }
  if (all_lie_in) look_at_overlaps(blocks, flaws);
}

void look_at_shape(const Shape& shape, std::size_t most_dimensions, Flaws& flaws) {
  if (shape.empty() || shape.size() > most_dimensions) {
    flaws.add("numbers of dimensions that cannot be", "it has " + std::to_string(shape.size()) + " dimensions, not one to " +
                                                          std::to_string(most_dimensions));
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) flaws.add("dimensions without cells", "dimension " + std::to_string(d) + " has no cells");
  }
}

}  // namespace

double PointList::at(std::uint64_t point, int component) const {
  const std::size_t size = size_of(type);
  const std::byte* from = bytes.data() + (3 * point + static_cast<std::uint64_t>(component)) * size;
  if (type == Type::float64) {
    double value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Shape RectilinearGrid::shape() const {
  Shape cells;
  for (const std::vector<double>& along : coordinates) cells.push_back(along.empty() ? 0 : along.size() - 1);
  return cells;
}

Box points_of(const Box& cells) {
  Box points = cells;
  for (std::uint64_t& count : points.count) ++count;
  return points;
}

Box own_points_of(const Box& cells, const Shape& shape) {
  Box points = cells;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (points.start[d] + points.count[d] == shape[d]) ++points.count[d];
  }
  return points;
}

std::vector<std::string> flaws_of(const UniformGrid& grid) {
  Flaws flaws;
  const std::size_t dimensions = grid.shape.size();
  look_at_shape(grid.shape, std::max<std::size_t>(dimensions, 1), flaws);   // files of arrays have any number of dimensions
  if (grid.origin.size() != dimensions || grid.spacing.size() != dimensions) {
    flaws.add("lists of another length", "it needs shape, origin and spacing of the same number of dimensions, and these have " +
                                             std::to_string(dimensions) + ", " + std::to_string(grid.origin.size()) + " and " +
                                             std::to_string(grid.spacing.size()));
  }
  for (std::size_t d = 0; d < grid.origin.size(); ++d) {
    if (!std::isfinite(grid.origin[d])) flaws.add(not_finite, "its origin along dimension " + std::to_string(d) + " is not finite");
  }
  for (std::size_t d = 0; d < grid.spacing.size(); ++d) {
    if (std::isfinite(grid.spacing[d]) && grid.spacing[d] > 0) continue;
    flaws.add("spacings that are not positive",
              "its spacing along dimension " + std::to_string(d) + " is " + std::to_string(grid.spacing[d]) + ", not a positive number");
  }
  look_at_blocks(grid.shape, grid.blocks, flaws);
  return flaws.take();
}

std::vector<std::string> flaws_of(const RectilinearGrid& grid) {
  Flaws flaws;
  const Shape shape = grid.shape();
  look_at_shape(shape, 3, flaws);
  for (std::size_t d = 0; d < grid.coordinates.size(); ++d) {
    const std::vector<double>& along = grid.coordinates[d];
    const auto place = [&](std::size_t i) { return "coordinate " + std::to_string(i) + " along dimension " + std::to_string(d); };
    for (std::size_t i = 0; i < along.size(); ++i) {
      if (!std::isfinite(along[i])) {
        if (flaws.count(not_finite)) flaws.add(place(i) + " is not finite");
      } else if (i > 0 && std::isfinite(along[i - 1]) && along[i] <= along[i - 1] && flaws.count("coordinates that do not ascend")) {
        flaws.add(place(i) + " is " + std::to_string(along[i]) + ", not greater than the one before, " + std::to_string(along[i - 1]));
      }
    }
  }
  look_at_blocks(shape, grid.blocks, flaws);
  return flaws.take();
}

std::vector<std::string> flaws_of(const CurvilinearGrid& grid) {
  Flaws flaws;
  look_at_shape(grid.shape, 3, flaws);
  look_at_blocks(grid.shape, grid.blocks, flaws);
  if (flaws.any()) return flaws.take();
  std::uint64_t expected = 0;
  for (const Box& block : grid.blocks) expected += block.empty() ? 0 : points_of(block).elements();
  if (grid.points.count() != expected) {
    flaws.add("wrong numbers of points", "it has " + std::to_string(grid.points.count()) + " points, and the blocks of this rank have " +
                                             std::to_string(expected) + ": one more than cells in each dimension");
  }
  for (std::uint64_t p = 0; p < grid.points.count(); ++p) {
    for (int c = 0; c < 3; ++c) {
      if (std::isfinite(grid.points.at(p, c)) || !flaws.count(not_finite)) continue;
      flaws.add(std::string(1, "xyz"[c]) + " of point " + std::to_string(p) + " is not finite");
    }
  }
  return flaws.take();
}

}  // namespace glean::mesh
