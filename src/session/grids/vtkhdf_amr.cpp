// SPDX-License-Identifier: BSD-3-Clause
//
// OverlappingAMR of VTKHDF: the blocks of a level one after the other, those of a rank together. No rank knows the blocks of another.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "session/grids/vtkhdf.hpp"

namespace glean::session {
namespace {

constexpr std::size_t levels_most = 32;   // indices of cells have 32 bits
constexpr double none = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1e-3;        // of a cell
constexpr double equal_widths = 1e-6;

// The numbers that ranks bring along of which the least counts: the lower corner of all, then of each level the least width of a cell and,
// negative, the greatest, x first. As many of all ranks, whatever levels they have.
constexpr std::size_t of_corner = 3, of_level = 6, reals = of_corner + levels_most * of_level;

double width(const mesh::AmrGrid& grid, const mesh::AmrBlock& block, std::size_t d) {
  return (block.upper[d] - block.lower[d]) / static_cast<double>(grid.cells_per_block[grid.cells_per_block.size() - 1 - d]);
}

std::size_t index_of(const mesh::AmrBlock& block) { return static_cast<std::size_t>(block.level - 1); }

// What all ranks together have of the levels. Those without blocks are not in the file.
class Levels {
 public:
  Levels(const mesh::AmrGrid& grid, const Totals& totals) : dimensions_(grid.cells_per_block.size()) {
    const std::size_t counts_begin = totals.all.size() - levels_most, reals_begin = totals.least.size() - reals;
    least_ = std::span(totals.least).subspan(reals_begin);
    std::copy_n(totals.all.begin() + static_cast<std::ptrdiff_t>(counts_begin), levels_most, all_.begin());
    std::copy_n(totals.before.begin() + static_cast<std::ptrdiff_t>(counts_begin), levels_most, before_.begin());
    for (std::size_t l = 0; l < levels_most; ++l) written_[l] = all_[l] == 0 ? -1 : count_++;
  }

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int written(std::size_t level) const { return written_[level]; }
  [[nodiscard]] std::uint64_t blocks(std::size_t level) const { return all_[level]; }
  [[nodiscard]] std::uint64_t before(std::size_t level) const { return before_[level]; }
  [[nodiscard]] double corner(std::size_t d) const { return d < dimensions_ ? least_[d] : 0; }
  [[nodiscard]] double least_width(std::size_t level, std::size_t d) const { return least_[of_corner + of_level * level + d]; }
  [[nodiscard]] double greatest_width(std::size_t level, std::size_t d) const { return -least_[of_corner + of_level * level + 3 + d]; }
  // A layer of one cell stands for a dimension that is not there.
  [[nodiscard]] double spacing(std::size_t level, std::size_t d) const { return least_width(level, d < dimensions_ ? d : 0); }

  void require_consistent(const mesh::AmrGrid& grid) const {
    std::vector<std::string> problems;
    std::uint64_t given = 0;
    for (std::size_t l = 0; l < levels_most; ++l) {
      given += all_[l];
      for (std::size_t d = 0; all_[l] != 0 && d < dimensions_; ++d) {
        const double least = least_width(l, d), most = greatest_width(l, d);
        if (most / least - 1 < equal_widths) continue;
        problems.push_back("along " + std::string(1, "xyz"[d]) + ", cells of level " + std::to_string(l + 1) + " have widths from " +
                           std::to_string(least) + " to " + std::to_string(most));
        break;
      }
    }
    if (given != grid.blocks_total) {
      problems.push_back("all ranks together have " + std::to_string(given) + " blocks, and blocks_total is " +
                         std::to_string(grid.blocks_total));
    }
    require_none(problems, "the AMR grid cannot be written", "the blocks of a level have cells of one width");
  }

 private:
  std::size_t dimensions_;
  std::span<const double> least_;
  std::array<std::uint64_t, levels_most> all_{}, before_{};
  std::array<int, levels_most> written_{};
  int count_ = 0;
};

// First and last cell along x, y, z, counted in cells of the level from the lower corner of the whole grid.
std::array<std::int32_t, 6> amr_box(const mesh::AmrGrid& grid, std::size_t b, const Levels& levels, std::vector<std::string>& problems) {
  std::array<std::int32_t, 6> box{};
  const mesh::AmrBlock& block = grid.blocks[b];
  const std::size_t dimensions = grid.cells_per_block.size();
  for (std::size_t d = 0; d < dimensions; ++d) {
    const double first = (block.lower[d] - levels.corner(d)) / levels.spacing(index_of(block), d), rounded = std::round(first);
    const std::uint64_t cells = grid.cells_per_block[dimensions - 1 - d];
    const bool fits = std::abs(first - rounded) < tolerance && rounded >= 0 &&
                      rounded + static_cast<double>(cells) < static_cast<double>(std::numeric_limits<std::int32_t>::max());
    if (!fits) {
      problems.push_back("along " + std::string(1, "xyz"[d]) + ", block " + std::to_string(grid.first_block + b) + " begins " +
                         std::to_string(first) + " cells of its level from the lower corner of the grid, not whole ones");
      continue;
    }
    box[2 * d] = static_cast<std::int32_t>(rounded);
    box[2 * d + 1] = static_cast<std::int32_t>(rounded + static_cast<double>(cells) - 1);
  }
  return box;
}

}  // namespace

void add_amr_levels(const mesh::AmrGrid& grid, Contribution& contribution) {
  std::vector<std::uint64_t> counts(levels_most);
  std::vector<double> least(reals, none);
  for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
    const mesh::AmrBlock& block = grid.blocks[b];
    const std::size_t level = index_of(block);
    if (level >= levels_most) {
      throw base::Error(base::Errc::invalid_argument, "the level of block " + std::to_string(grid.first_block + b) + " is " +
                                                          std::to_string(block.level) + ", and a VTKHDF file has at most " +
                                                          std::to_string(levels_most));
    }
    ++counts[level];
    for (std::size_t d = 0; d < grid.cells_per_block.size(); ++d) {
      const double cell = width(grid, block, d);
      double& narrowest = least[of_corner + of_level * level + d];
      double& widest = least[of_corner + of_level * level + 3 + d];
      least[d] = std::min(least[d], block.lower[d]);
      narrowest = std::min(narrowest, cell);
      widest = std::min(widest, -cell);
    }
  }
  contribution.counts.insert(contribution.counts.end(), counts.begin(), counts.end());
  contribution.least.insert(contribution.least.end(), least.begin(), least.end());
}

void view_amr(const Program& program, const Totals& totals, FileView& view) {
  const auto& grid = std::get<mesh::AmrGrid>(program.mesh(0));
  const Levels levels(grid, totals);
  levels.require_consistent(grid);
  FileBuilder file(view);
  file.attribute(-1, "VTKHDF/GridDescription", "XYZ");
  file.attribute(-1, "VTKHDF/Origin", mesh::Type::float64, std::vector<double>{levels.corner(0), levels.corner(1), levels.corner(2)});

  std::vector<std::int32_t> boxes[levels_most];
  std::vector<std::uint64_t> positions;   // in its level, of each block of this rank
  std::vector<std::string> problems;
  for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
    const std::size_t level = index_of(grid.blocks[b]);
    positions.push_back(levels.before(level) + boxes[level].size() / 6);
    const auto box = amr_box(grid, b, levels, problems);
    boxes[level].insert(boxes[level].end(), box.begin(), box.end());
    if (problems.size() >= 3) break;
  }
  require_none(problems, "the AMR grid cannot be written", "");

  const auto group = [&](std::size_t level) { return "Level" + std::to_string(levels.written(level)) + "/"; };
  std::vector<int> coordinates;
  for (std::size_t level = 0; level < levels_most; ++level) {
    if (levels.written(level) < 0) continue;
    file.attribute(-1, vtkhdf_root + group(level) + "Spacing", mesh::Type::float64,
                   std::vector<double>{levels.spacing(level, 0), levels.spacing(level, 1), levels.spacing(level, 2)});
    add_vtkhdf_groups(file, group(level));
    coordinates.push_back(file.variable(vtkhdf_root + group(level) + "AMRBox", mesh::Type::int32, {levels.blocks(level), 6}));
    file.put(coordinates.back(), {{levels.before(level), 0}, {boxes[level].size() / 6, 6}}, mesh::Type::int32, boxes[level]);
  }
  view.definitions.grids.front().coordinates = coordinates;

  for (std::size_t v = 0; v < program.definitions().variables.size(); ++v) {
    const mesh::VariableDefinition& defined = program.definitions().variables[v];
    if (defined.grid < 0) continue;
    mesh::Shape elements = grid.cells_per_block;
    if (defined.centring == mesh::Centring::points) {
      for (std::uint64_t& count : elements) ++count;
    }
    int of_level_variable[levels_most] = {};
    for (std::size_t level = 0; level < levels_most; ++level) {
      if (levels.written(level) < 0) continue;
      mesh::Shape shape{levels.blocks(level) * mesh::elements_of(elements)};
      if (defined.components > 1) shape.push_back(defined.components);
      const int made = of_level_variable[level] =
          file.variable(vtkhdf_group(group(level), defined.centring) + defined.name, defined.external, shape);
      file[made].fill = defined.fill;
      file[made].grid = 0;
      file[made].centring = defined.centring;
      file[made].components = defined.components;
      view.level_of.resize(static_cast<std::size_t>(made) + 1, -1);
      view.level_of.back() = static_cast<int>(v);
    }
    std::vector<AmrLevels::Place> places;
    for (std::size_t b = 0; b < grid.blocks.size(); ++b) places.push_back({of_level_variable[index_of(grid.blocks[b])], positions[b]});
    view.routes[v].map = std::make_unique<AmrLevels>(grid.first_block, std::move(places), elements, defined.components > 1);
  }
}

}  // namespace glean::session
