// SPDX-License-Identifier: BSD-3-Clause
//
// Block-structured AMR: what can be said of the blocks of one rank, when it defines them. A block of any level may be of any width, as long
// as those of a level agree, and a parent of another rank is not looked at. `locate` of block_mesh.hpp sees all blocks of a file that is
// complete, and wants them as FLASH has them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "mesh/flaws.hpp"
#include "mesh/meshes.hpp"

namespace glean::mesh {
namespace {

constexpr double tolerance = 1e-3;   // of a cell: bounding boxes are sums of rounded numbers

class AmrCheck {
 public:
  explicit AmrCheck(const AmrGrid& grid) : grid_(grid), dimensions_(grid.cells_per_block.size()) {}

  std::vector<std::string> flaws() {
    look_at_numbers();
    bool all_bounded = !flaws_.any();
    for (std::size_t b = 0; b < grid_.blocks.size(); ++b) all_bounded = look_at_bounds(b) && all_bounded;
    for (std::size_t b = 0; b < grid_.blocks.size(); ++b) look_at_tree(b);
    if (all_bounded) {
      for (std::size_t b = 0; b < grid_.blocks.size(); ++b) look_at_spacing(b);
      look_at_overlaps();
    }
    return flaws_.take();
  }

 private:
  [[nodiscard]] std::string name(std::size_t block) const { return "block " + std::to_string(grid_.first_block + block); }

  void look_at_numbers() {
    if (dimensions_ < 1 || dimensions_ > 3) {
      flaws_.add("numbers of dimensions that cannot be", "it has " + std::to_string(dimensions_) + " dimensions, not one to three");
    }
    for (const std::uint64_t cells : grid_.cells_per_block) {
      if (cells == 0) flaws_.add("dimensions without cells", "its blocks have no cells");
    }
    if (grid_.blocks_total == 0) flaws_.add("grids without blocks", "it has no blocks on any rank");
    const std::uint64_t mine = grid_.blocks.size(), last = grid_.first_block + mine;
    if (grid_.first_block > grid_.blocks_total || mine > grid_.blocks_total - grid_.first_block) {
      flaws_.add("blocks that are not there", "blocks " + std::to_string(grid_.first_block) + " to " + std::to_string(last) +
                                                  " do not lie in an AMR grid of " + std::to_string(grid_.blocks_total) + " blocks");
    }
  }

  bool look_at_bounds(std::size_t b) {
    const AmrBlock& block = grid_.blocks[b];
    if (block.lower.size() != dimensions_ || block.upper.size() != dimensions_) {
      flaws_.add("bounding boxes of another number of dimensions",
                 "the bounding box of " + name(b) + " needs " + std::to_string(dimensions_) + " lower and upper bounds");
      return false;
    }
    for (std::size_t d = 0; d < dimensions_; ++d) {
      if (std::isfinite(block.lower[d]) && std::isfinite(block.upper[d]) && block.lower[d] < block.upper[d]) continue;
      flaws_.add("bounding boxes that are none", std::string("along ") + "xyz"[d] + ", " + name(b) + " reaches from " +
                                                     std::to_string(block.lower[d]) + " to " + std::to_string(block.upper[d]));
      return false;
    }
    return true;
  }

  void look_at_tree(std::size_t b) {
    const AmrBlock& block = grid_.blocks[b];
    if (block.level < 1) flaws_.add("levels below 1", "the level of " + name(b) + " is " + std::to_string(block.level) + ", less than 1");
    const bool is_known = block.parent >= -1 && block.parent < static_cast<std::int64_t>(grid_.blocks_total) &&
                          block.parent <= std::numeric_limits<std::int32_t>::max();
    if (!is_known) {
      flaws_.add("parents that are not there", "parent " + std::to_string(block.parent) + " of " + name(b) + " is no block of the grid");
      return;
    }
    const std::int64_t here = block.parent - static_cast<std::int64_t>(grid_.first_block);
    if (block.parent < 0 || here < 0 || here >= static_cast<std::int64_t>(grid_.blocks.size())) return;   // of another rank
    const int parents = grid_.blocks[static_cast<std::size_t>(here)].level;
    if (parents == block.level - 1) return;
    flaws_.add("parents of a wrong level", name(b) + " has level " + std::to_string(block.level) + ", and its parent " +
                                               std::to_string(block.parent) + " has level " + std::to_string(parents));
  }

  [[nodiscard]] double spacing(const AmrBlock& block, std::size_t d) const {
    return (block.upper[d] - block.lower[d]) / static_cast<double>(grid_.cells_per_block[dimensions_ - 1 - d]);
  }

  // As the first of its level, from which it is whole cells away.
  void look_at_spacing(std::size_t b) {
    const AmrBlock& block = grid_.blocks[b];
    const AmrBlock& first = grid_.blocks[first_of_level_.try_emplace(block.level, b).first->second];
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const double cell = spacing(first, d), cells_away = (block.lower[d] - first.lower[d]) / cell;
      const auto cells = static_cast<double>(grid_.cells_per_block[dimensions_ - 1 - d]);
      const bool fits = std::abs(spacing(block, d) / cell - 1) < tolerance / cells &&
                        std::abs(cells_away - std::round(cells_away)) < tolerance;
      if (fits) continue;
      if (flaws_.count("blocks that do not fit the cells of their level")) {
        flaws_.add(std::string("along ") + "xyz"[d] + ", " + name(b) + " reaches from " + std::to_string(block.lower[d]) + " to " +
                   std::to_string(block.upper[d]) + ", which does not fit cells of width " + std::to_string(cell) + " of its level " +
                   std::to_string(block.level));
      }
      return;
    }
  }

  void look_at_overlaps() {
    std::vector<std::size_t> order(grid_.blocks.size());
    for (std::size_t b = 0; b < order.size(); ++b) order[b] = b;
    const auto key = [&](std::size_t b) { return std::pair(grid_.blocks[b].level, grid_.blocks[b].lower[0]); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const AmrBlock& block = grid_.blocks[order[i]];
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        const AmrBlock& other = grid_.blocks[order[j]];
        if (other.level != block.level || other.lower[0] > block.upper[0] - tolerance * spacing(block, 0)) break;
        bool overlap = true;
        for (std::size_t d = 0; d < dimensions_; ++d) {
          const double slack = tolerance * spacing(block, d);
          overlap = overlap && other.lower[d] < block.upper[d] - slack && block.lower[d] < other.upper[d] - slack;
        }
        const auto [first, second] = std::minmax(order[i], order[j]);
        if (overlap && flaws_.count("pairs of blocks that overlap")) {
          flaws_.add(name(first) + " and " + name(second) + " of level " + std::to_string(block.level) + " overlap");
        }
      }
    }
  }

  const AmrGrid& grid_;
  std::size_t dimensions_;
  Flaws flaws_;
  std::map<int, std::size_t> first_of_level_;
};

}  // namespace

std::vector<std::string> flaws_of(const AmrGrid& grid) { return AmrCheck(grid).flaws(); }

}  // namespace glean::mesh
