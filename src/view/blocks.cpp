// SPDX-License-Identifier: BSD-3-Clause
#include "view/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.hpp"

namespace glean::view {
namespace {

constexpr std::uint64_t blocks_max = 1 << 20;
constexpr std::size_t boxes_max = 4096;
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

std::optional<int> find_any(const Dataset& dataset, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = dataset.find(name)) return found;
  }
  return std::nullopt;
}

std::string units_of(const Dataset& dataset, int variable) { return dataset.text(variable, "units").value_or(""); }

// --- by FLASH's names

// Of a variable on blocks, along z, y, x; nothing where it is none.
std::optional<std::array<std::uint64_t, 3>> cells_of(const DatasetVariable& variable, std::uint64_t blocks, int dimensions) {
  const mesh::Shape& shape = variable.shape;
  if (variable.type == mesh::Type::text || shape.empty() || shape[0] != blocks) return std::nullopt;
  if (shape.size() != 4 && shape.size() != static_cast<std::size_t>(dimensions) + 1) return std::nullopt;
  std::array<std::uint64_t, 3> cells{1, 1, 1};
  for (std::size_t d = 1; d < shape.size(); ++d) cells[3 - shape.size() + d] = shape[d];
  const bool is_flat = static_cast<std::size_t>(std::count(cells.begin(), cells.end(), 1u)) >= 3;
  return is_flat || mesh::elements_of(shape) == 0 ? std::nullopt : std::optional(cells);
}

int dimensions_of(const Dataset& dataset, std::uint64_t widest) {
  if (const auto gid = dataset.find("gid")) {
    const mesh::Shape& shape = dataset.variable(*gid).shape;
    if (shape.size() == 2 && (shape[1] == 5 || shape[1] == 9 || shape[1] == 15)) return shape[1] == 5 ? 1 : shape[1] == 9 ? 2 : 3;
  }
  return static_cast<int>(widest);
}

std::optional<BlockGrid> find_flash(const Dataset& dataset) {
  const auto levels = find_any(dataset, {"lrefine", "refine level"});
  const auto bounds = find_any(dataset, {"bndbox", "bounding box"});
  if (!levels || !bounds) return std::nullopt;
  const mesh::Shape& shape = dataset.variable(*bounds).shape;
  const mesh::Shape& level_shape = dataset.variable(*levels).shape;
  if (level_shape.size() != 1 || shape.size() != 3 || shape[0] != level_shape[0] || shape[1] < 1 || shape[1] > 3 || shape[2] != 2) {
    return std::nullopt;
  }
  if (shape[0] > blocks_max) throw base::Error(base::Errc::unsupported, fmt::format("{} blocks are more than can be shown", shape[0]));
  BlockGrid grid;
  grid.dimensions = dimensions_of(dataset, shape[1]);
  grid.mesh_variables = {*levels, *bounds};
  for (const char* name : {"parent", "gid", "nodetype", "node type", "which_child", "which child", "processor_number", "processor number",
                           "coordinates", "blocksize", "block size", "bflags", "gsurr_blks"}) {
    if (const auto found = dataset.find(name)) grid.mesh_variables.push_back(*found);
  }
  const std::vector<double> level = dataset.all(*levels), bound = dataset.all(*bounds);
  for (std::uint64_t b = 0; b < shape[0]; ++b) {
    ViewBlock block{.level = static_cast<int>(level[b]), .lower = {0, 0, 0}, .upper = {1, 1, 1}};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dimensions); ++axis) {
      block.lower[2 - axis] = bound[(b * shape[1] + axis) * 2];
      block.upper[2 - axis] = bound[(b * shape[1] + axis) * 2 + 1];
    }
    grid.blocks.push_back(block);
  }
  for (std::size_t v = 0; v < dataset.variables().size(); ++v) {
    const int id = static_cast<int>(v);
    if (std::find(grid.mesh_variables.begin(), grid.mesh_variables.end(), id) != grid.mesh_variables.end()) continue;
    const auto cells = cells_of(dataset.variable(id), shape[0], grid.dimensions);
    if (cells) grid.fields.push_back({dataset.variable(id).name, units_of(dataset, id), *cells, {id}});
  }
  return grid;
}

// --- VTKHDF

std::optional<BlockGrid> find_vtkhdf(const Dataset& dataset) {
  if (!dataset.find("VTKHDF/Level0/AMRBox")) return std::nullopt;
  BlockGrid grid;
  grid.is_vtkhdf = true;
  std::vector<double> origin = dataset.numbers(-1, "VTKHDF/Origin");
  origin.resize(3);
  for (int level = 0;; ++level) {
    const std::string group = fmt::format("VTKHDF/Level{}/", level);
    const auto boxes = dataset.find(group + "AMRBox");
    if (!boxes) break;
    const std::vector<double> spacing = dataset.numbers(-1, group + "Spacing"), box = dataset.all(*boxes);
    if (spacing.size() != 3 || box.size() % 6 != 0) return std::nullopt;
    grid.mesh_variables.push_back(*boxes);
    std::uint64_t first = 0;
    for (std::size_t b = 0; b < box.size() / 6; ++b) {
      ViewBlock block{.level = level, .lower = {}, .upper = {}};
      std::array<std::uint64_t, 3> cells{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double low = box[b * 6 + 2 * axis], high = box[b * 6 + 2 * axis + 1] + 1;
        block.lower[2 - axis] = origin[axis] + low * spacing[axis];
        block.upper[2 - axis] = origin[axis] + high * spacing[axis];
        cells[2 - axis] = high > low ? static_cast<std::uint64_t>(high - low) : 0;
      }
      grid.blocks.push_back(block);
      grid.cells.push_back(cells);
      grid.first_cell.push_back(first);
      first += cells[0] * cells[1] * cells[2];
    }
    const std::string in_front = group + "CellData/";
    for (std::size_t v = 0; v < dataset.variables().size(); ++v) {
      const DatasetVariable& variable = dataset.variables()[v];
      if (!variable.name.starts_with(in_front) || variable.type == mesh::Type::text || variable.shape != mesh::Shape{first}) continue;
      const std::string name = variable.name.substr(in_front.size());
      auto field = std::find_if(grid.fields.begin(), grid.fields.end(), [&](const BlockField& each) { return each.name == name; });
      if (field == grid.fields.end()) {
        field = grid.fields.insert(grid.fields.end(), {name, units_of(dataset, static_cast<int>(v)), {1, 1, 1}, {}});
      }
      field->variables.resize(static_cast<std::size_t>(level), -1);
      field->variables.push_back(static_cast<int>(v));
    }
  }
  return grid;
}

// Cells along the domain that are as wide as the narrowest of all.
void measure(BlockGrid& grid) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid.lower[axis] = std::numeric_limits<double>::infinity();
    grid.upper[axis] = -grid.lower[axis];
    double narrowest = grid.lower[axis];
    for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
      const ViewBlock& block = grid.blocks[b];
      const std::uint64_t cells = grid.is_vtkhdf ? grid.cells[b][axis] : grid.fields.front().cells[axis];
      grid.lower[axis] = std::min(grid.lower[axis], block.lower[axis]);
      grid.upper[axis] = std::max(grid.upper[axis], block.upper[axis]);
      if (cells != 0) narrowest = std::min(narrowest, (block.upper[axis] - block.lower[axis]) / static_cast<double>(cells));
    }
    const double cells = (grid.upper[axis] - grid.lower[axis]) / narrowest;
    if (cells >= 1 && cells < 1e9) grid.finest[axis] = static_cast<std::uint64_t>(std::lround(cells));
  }
}

// --- a picture

// Pixels of a block along an axis of the picture: of which the centres lie in it.
struct Span {
  std::uint64_t first = 0, end = 0;
};

class Drawing {
 public:
  Drawing(const Dataset& dataset, const BlockGrid& grid, const BlockField& field, std::uint64_t record, const SliceRequest& request)
      : dataset_(dataset), grid_(grid), field_(field), record_(record) {
    across_ = static_cast<std::size_t>(grid.dimensions < 3 ? 0 : std::clamp(request.axis, 0, 2));
    picture_.row_axis = grid.dimensions == 1 ? -1 : across_ == 0 ? 1 : 0;
    picture_.column_axis = across_ == 2 ? 1 : 2;
    const double at = across_ < request.at.size() ? request.at[across_] : 0.5;
    const std::uint64_t cells = grid.finest[across_];
    const double fraction = (static_cast<double>(index_at(at, cells)) + 0.5) / static_cast<double>(cells);
    picture_.position = grid.lower[across_] + fraction * (grid.upper[across_] - grid.lower[across_]);
    picture_.width = pixels(picture_.column_axis, request.width_max);
    picture_.height = picture_.row_axis < 0 ? 1 : pixels(picture_.row_axis, request.height_max);
    picture_.values.assign(picture_.width * picture_.height, static_cast<float>(nothing));
  }

  BlockPicture draw() {
    std::vector<std::size_t> order(grid_.blocks.size());
    std::iota(order.begin(), order.end(), 0);
    const auto level = [this](std::size_t block) { return grid_.blocks[block].level; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return level(a) < level(b); });
    for (const std::size_t block : order) {
      const ViewBlock& each = grid_.blocks[block];
      const bool is_cut = grid_.dimensions < 3 || (each.lower[across_] <= picture_.position && picture_.position < each.upper[across_]);
      if (is_cut) draw(block);
    }
    return std::move(picture_);
  }

 private:
  [[nodiscard]] std::uint64_t pixels(int axis, std::uint32_t most) const {
    const std::uint64_t side = std::clamp<std::uint64_t>(most, 1, picture_side_max);
    return std::min(side, grid_.finest[static_cast<std::size_t>(axis)]);
  }
  // Where a coordinate is, as a fraction of the domain.
  [[nodiscard]] double fraction(int axis, double coordinate) const {
    const auto a = static_cast<std::size_t>(axis);
    return (coordinate - grid_.lower[a]) / (grid_.upper[a] - grid_.lower[a]);
  }
  [[nodiscard]] Span span(int axis, const ViewBlock& block, std::uint64_t pixels) const {
    if (axis < 0) return {0, 1};
    const auto a = static_cast<std::size_t>(axis);
    const auto edge = [&](double coordinate) {
      const double at = std::ceil(fraction(axis, coordinate) * static_cast<double>(pixels) - 0.5 - 1e-6);
      return static_cast<std::uint64_t>(std::clamp(at, 0.0, static_cast<double>(pixels)));
    };
    return {edge(block.lower[a]), edge(block.upper[a])};
  }
  // Which cell of the block a pixel's centre lies in.
  [[nodiscard]] std::uint64_t cell(int axis, const ViewBlock& block, std::uint64_t pixel, std::uint64_t pixels, std::uint64_t cells) const {
    if (axis < 0) return 0;
    const auto a = static_cast<std::size_t>(axis);
    const double fraction = (static_cast<double>(pixel) + 0.5) / static_cast<double>(pixels);
    const double centre = grid_.lower[a] + fraction * (grid_.upper[a] - grid_.lower[a]);
    return index_at((centre - block.lower[a]) / (block.upper[a] - block.lower[a]), cells);
  }

  // The cells of the plane, row by row.
  [[nodiscard]] std::vector<double> plane(std::size_t block, const std::array<std::uint64_t, 3>& cells) const {
    const ViewBlock& each = grid_.blocks[block];
    const double at = (picture_.position - each.lower[across_]) / (each.upper[across_] - each.lower[across_]);
    const std::uint64_t index = grid_.dimensions < 3 ? 0 : index_at(at, cells[across_]);
    if (!grid_.is_vtkhdf) return plane_of_flash(block, cells, index);
    const int variable = field_.variables[static_cast<std::size_t>(each.level)];
    std::vector<double> all(cells[0] * cells[1] * cells[2]);
    dataset_.read(variable, record_, {{grid_.first_cell[block]}, {all.size()}}, all.data());
    std::vector<double> found;
    for (std::uint64_t z = 0; z < cells[0]; ++z) {
      for (std::uint64_t y = 0; y < cells[1]; ++y) {
        for (std::uint64_t x = 0; x < cells[2]; ++x) {
          const std::array<std::uint64_t, 3> place{z, y, x};
          if (place[across_] == index) found.push_back(all[(z * cells[1] + y) * cells[2] + x]);
        }
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<double> plane_of_flash(std::size_t block, const std::array<std::uint64_t, 3>& cells,
                                                   std::uint64_t index) const {
    const int variable = field_.variables.front();
    const std::size_t dimensions = dataset_.variable(variable).shape.size();
    mesh::Box box{mesh::Shape(dimensions, 0), mesh::Shape(dimensions, 1)};
    box.start[0] = block;
    for (std::size_t d = 1; d < dimensions; ++d) {
      const std::size_t axis = 3 - dimensions + d;
      if (axis == across_) box.start[d] = index;
      else box.count[d] = cells[axis];
    }
    std::vector<double> values(box.elements());
    dataset_.read(variable, record_, box, values.data());
    return values;
  }

  void draw(std::size_t number) {
    const ViewBlock& block = grid_.blocks[number];
    const bool has_values = !grid_.is_vtkhdf || (static_cast<std::size_t>(block.level) < field_.variables.size() &&
                                                 field_.variables[static_cast<std::size_t>(block.level)] >= 0);
    if (!has_values) return;
    const Span across = span(picture_.column_axis, block, picture_.width), down = span(picture_.row_axis, block, picture_.height);
    const bool has_rows = picture_.row_axis >= 0;
    if (picture_.boxes.size() < boxes_max) {
      const auto edge = [&](int axis, const std::array<double, 3>& corner) {
        return fraction(axis, corner[static_cast<std::size_t>(axis)]);
      };
      picture_.boxes.push_back({edge(picture_.column_axis, block.lower), has_rows ? edge(picture_.row_axis, block.lower) : 0,
                                edge(picture_.column_axis, block.upper), has_rows ? edge(picture_.row_axis, block.upper) : 1,
                                static_cast<double>(block.level)});
    }
    if (across.first >= across.end || down.first >= down.end) return;
    const auto cells = grid_.is_vtkhdf ? grid_.cells[number] : field_.cells;
    const std::vector<double> values = plane(number, cells);
    const std::uint64_t columns = cells[static_cast<std::size_t>(picture_.column_axis)];
    const std::uint64_t rows = has_rows ? cells[static_cast<std::size_t>(picture_.row_axis)] : 1;
    for (std::uint64_t y = down.first; y < down.end; ++y) {
      const std::uint64_t row = cell(picture_.row_axis, block, y, picture_.height, rows);
      for (std::uint64_t x = across.first; x < across.end; ++x) {
        const std::uint64_t column = cell(picture_.column_axis, block, x, picture_.width, columns);
        picture_.values[y * picture_.width + x] = static_cast<float>(values[row * columns + column]);
      }
    }
  }

  const Dataset& dataset_;
  const BlockGrid& grid_;
  const BlockField& field_;
  std::uint64_t record_;
  std::size_t across_ = 0;
  BlockPicture picture_;
};

}  // namespace

std::optional<BlockGrid> find_blocks(const Dataset& dataset) {
  auto grid = find_vtkhdf(dataset);
  if (!grid) grid = find_flash(dataset);
  if (!grid || grid->blocks.empty() || grid->fields.empty()) return std::nullopt;
  measure(*grid);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(grid->upper[axis] > grid->lower[axis])) return std::nullopt;
  }
  return grid;
}

BlockPicture draw_blocks(const Dataset& dataset, const BlockGrid& grid, const BlockField& field, std::uint64_t record,
                         const SliceRequest& request) {
  return Drawing(dataset, grid, field, record, request).draw();
}

}  // namespace glean::view
