// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/block_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <utility>

namespace glean::mesh {
namespace {

constexpr std::int32_t highest_level = 52;   // a double tells so many halves apart
constexpr double misfit_most = 0.01;         // of a block's width
constexpr std::int64_t furthest = std::int64_t{1} << 52;

using Position = std::array<std::int64_t, 3>;

struct Place {
  std::int32_t level;
  Position position;
  friend bool operator==(const Place&, const Place&) = default;
};

struct HashOfPlace {
  std::size_t operator()(const Place& place) const {
    auto hash = static_cast<std::uint64_t>(place.level);
    for (const std::int64_t each : place.position) {
      hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

using BlockAt = std::unordered_map<Place, std::int32_t, HashOfPlace>;

std::string text_of(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

std::int64_t half(std::int64_t position) { return position >> 1; }   // rounds down

class Locating {
 public:
  Locating(const BlockMesh& mesh, BlockPositions& positions) : mesh_(mesh), positions_(positions), is_sound_(mesh.blocks(), true) {}

  std::vector<std::string> run() {
    if (mesh_.blocks() == 0) return {"there is no block"};
    for (std::size_t block = 0; block < mesh_.blocks(); ++block) check_values(block);
    if (std::find(is_sound_.begin(), is_sound_.end(), true) == is_sound_.end()) return std::move(defects_);
    measure();
    place_blocks();
    find_doubles();
    for (std::size_t block = 0; block < mesh_.blocks(); ++block) check_parent(block);
    find_cycles();
    return std::move(defects_);
  }

 private:
  void add(std::size_t block, const std::string& what) { defects_.push_back("block " + std::to_string(block) + ": " + what); }

  // Of the block alone.
  void check_values(std::size_t block) {
    bool sound = true;
    const std::int32_t level = mesh_.levels[block];
    if (level < 1 || level > highest_level) {
      add(block, "its level is " + std::to_string(level));
      sound = false;
    }
    for (int axis = 0; axis < mesh_.dimensions; ++axis) {
      const double lower = mesh_.lower(block, axis), upper = mesh_.upper(block, axis);
      if (std::isfinite(lower) && std::isfinite(upper) && std::isfinite(upper - lower) && lower < upper) continue;
      add(block, "its bounding box along " + std::string(1, "xyz"[axis]) + " is from " + text_of(lower) + " to " + text_of(upper));
      sound = false;
    }
    is_sound_[block] = sound;
  }

  // The width of a block of level 1 that most blocks speak of.
  void measure() {
    positions_.root_width = {1, 1, 1};
    for (int axis = 0; axis < mesh_.dimensions; ++axis) {
      std::vector<double> widths;
      for (std::size_t block = 0; block < mesh_.blocks(); ++block) {
        if (is_sound_[block]) widths.push_back(std::ldexp(mesh_.upper(block, axis) - mesh_.lower(block, axis), mesh_.levels[block] - 1));
      }
      const auto middle = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2);
      std::nth_element(widths.begin(), middle, widths.end());
      positions_.root_width[static_cast<std::size_t>(axis)] = *middle;
    }
  }

  // From the lower corner of `anchor`; nothing where it does not fit the level's grid.
  [[nodiscard]] std::optional<std::int64_t> position(std::size_t block, std::size_t anchor, int axis) const {
    const double width = positions_.width(mesh_.levels[block], axis);
    const double found = (mesh_.lower(block, axis) - mesh_.lower(anchor, axis)) / width;
    const double whole = std::round(found);
    if (!(std::abs(found - whole) <= misfit_most) || std::abs(whole) > static_cast<double>(furthest)) return std::nullopt;
    if (!(std::abs((mesh_.upper(block, axis) - mesh_.lower(block, axis)) / width - 1) <= misfit_most)) return std::nullopt;
    return static_cast<std::int64_t>(whole);
  }

  void place_blocks() {
    const std::size_t anchor = anchor_block();
    const std::int32_t coarsest = mesh_.levels[anchor];
    positions_.of_block.assign(mesh_.blocks(), Position{});
    std::vector<std::size_t> misplaced;
    for (int axis = 0; axis < mesh_.dimensions; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      double lowest = mesh_.lower(anchor, axis);
      for (std::size_t block = 0; block < mesh_.blocks(); ++block) {
        if (is_sound_[block] && position(block, anchor, axis)) lowest = std::min(lowest, mesh_.lower(block, axis));
      }
      // The lowest corner may be one of a fine block, and is no corner of a coarse one then.
      const double width = positions_.width(coarsest, axis);
      const auto steps = static_cast<std::int64_t>(std::ceil((mesh_.lower(anchor, axis) - lowest) / width - misfit_most));
      positions_.lower[a] = mesh_.lower(anchor, axis) - static_cast<double>(steps) * width;
      for (std::size_t block = 0; block < mesh_.blocks(); ++block) {
        if (!is_sound_[block]) continue;
        std::int64_t shift = 0, place = 0;
        const std::int64_t in_level = std::int64_t{1} << std::max(mesh_.levels[block] - coarsest, 0);
        if (const auto found = position(block, anchor, axis)) {
          if (!__builtin_mul_overflow(steps, in_level, &shift) && !__builtin_add_overflow(*found, shift, &place) && place < furthest) {
            positions_.of_block[block][a] = place;
          } else {
            misplaced.push_back(block);
            add(block, "there are more blocks of level " + std::to_string(mesh_.levels[block]) + " side by side than can be counted");
          }
        } else {
          misplaced.push_back(block);
          add(block, "its bounding box along " + std::string(1, "xyz"[axis]) + " is from " + text_of(mesh_.lower(block, axis)) + " to " +
                         text_of(mesh_.upper(block, axis)) + ", where no block of level " + std::to_string(mesh_.levels[block]) +
                         " can be: these are " + text_of(positions_.width(mesh_.levels[block], axis)) + " wide");
        }
      }
    }
    for (const std::size_t block : misplaced) is_sound_[block] = false;
  }

  // One of the coarsest of those that have the width that most have: of the first, the one in the middle and the last the one which most
  // blocks agree with.
  [[nodiscard]] std::size_t anchor_block() const {
    std::vector<std::size_t> coarsest;
    for (std::size_t block = 0; block < mesh_.blocks(); ++block) {
      bool fits = is_sound_[block];
      for (int axis = 0; axis < mesh_.dimensions; ++axis) fits = fits && position(block, block, axis);
      if (!fits || (!coarsest.empty() && mesh_.levels[block] > mesh_.levels[coarsest.front()])) continue;
      if (!coarsest.empty() && mesh_.levels[block] < mesh_.levels[coarsest.front()]) coarsest.clear();
      coarsest.push_back(block);
    }
    if (coarsest.empty()) return static_cast<std::size_t>(std::find(is_sound_.begin(), is_sound_.end(), true) - is_sound_.begin());
    std::size_t best = coarsest.front(), fewest = mesh_.blocks() + 1;
    for (const std::size_t candidate : {coarsest.front(), coarsest[coarsest.size() / 2], coarsest.back()}) {
      std::size_t misfits = 0;
      for (std::size_t block = 0; block < mesh_.blocks(); ++block) {
        bool fits = true;
        for (int axis = 0; axis < mesh_.dimensions && is_sound_[block]; ++axis) fits = fits && position(block, candidate, axis);
        misfits += fits ? 0 : 1;
      }
      if (misfits < fewest) best = candidate;
      fewest = std::min(fewest, misfits);
    }
    return best;
  }

  void find_doubles() {
    BlockAt at;
    for (std::size_t block = 0; block < mesh_.blocks(); ++block) {
      if (!is_sound_[block]) continue;
      const auto [first, is_new] = at.emplace(Place{mesh_.levels[block], positions_.of_block[block]}, static_cast<std::int32_t>(block));
      if (!is_new) add(block, "it is where block " + std::to_string(first->second) + " of the same level is");
    }
  }

  [[nodiscard]] bool has_parent(std::size_t block) const {
    return mesh_.parents[block] >= 0 && static_cast<std::size_t>(mesh_.parents[block]) < mesh_.blocks();
  }

  void check_parent(std::size_t block) {
    if (mesh_.parents[block] == -1) return;
    const std::string parent = std::to_string(mesh_.parents[block]);
    if (!has_parent(block)) return add(block, "its parent " + parent + " is no block");
    const auto above = static_cast<std::size_t>(mesh_.parents[block]);
    if (mesh_.levels[above] != mesh_.levels[block] - 1) {
      return add(block, "its parent " + parent + " is of level " + std::to_string(mesh_.levels[above]) + ", and it is of level " +
                            std::to_string(mesh_.levels[block]) + " itself");
    }
    if (!is_sound_[block] || !is_sound_[above]) return;
    for (int axis = 0; axis < mesh_.dimensions; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (half(positions_.of_block[block][a]) == positions_.of_block[above][a]) continue;
      return add(block, "it does not lie in its parent " + parent);
    }
  }

  // Each once, from its block with the smallest number on.
  void find_cycles() {
    std::vector<std::size_t> seen_from(mesh_.blocks(), mesh_.blocks());
    for (std::size_t start = 0; start < mesh_.blocks(); ++start) {
      std::size_t at = start;
      while (seen_from[at] == mesh_.blocks()) {
        seen_from[at] = start;
        if (!has_parent(at)) break;
        at = static_cast<std::size_t>(mesh_.parents[at]);
      }
      if (!has_parent(at) || seen_from[at] != start) continue;
      std::string names = std::to_string(at);
      for (auto next = static_cast<std::size_t>(mesh_.parents[at]); next != at; next = static_cast<std::size_t>(mesh_.parents[next])) {
        names += ", " + std::to_string(next);
      }
      defects_.push_back("a cycle of parents: " + names);
    }
  }

  const BlockMesh& mesh_;
  BlockPositions& positions_;
  std::vector<bool> is_sound_;
  std::vector<std::string> defects_;
};

}  // namespace

double BlockPositions::width(std::int32_t level, int axis) const {
  return std::ldexp(root_width[static_cast<std::size_t>(axis)], 1 - level);
}

std::vector<std::string> locate(const BlockMesh& mesh, BlockPositions& positions) { return Locating(mesh, positions).run(); }

BlockRelations relations_of(const BlockMesh& mesh, const BlockPositions& positions) {
  const std::size_t blocks = mesh.blocks(), dimensions = static_cast<std::size_t>(mesh.dimensions), of_each = std::size_t{1} << dimensions;
  BlockRelations relations{std::vector<std::int32_t>(blocks * of_each, -1), std::vector<std::int32_t>(blocks * 2 * dimensions, -1),
                           std::vector<std::int32_t>(blocks, -1), std::vector<std::int32_t>(blocks, 1)};
  BlockAt at;
  for (std::size_t block = 0; block < blocks; ++block) {
    at.emplace(Place{mesh.levels[block], positions.of_block[block]}, static_cast<std::int32_t>(block));
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    const Position& position = positions.of_block[block];
    for (std::size_t side = 0; side < 2 * dimensions; ++side) {
      Place beside{mesh.levels[block], position};
      beside.position[side / 2] += side % 2 == 0 ? -1 : 1;
      if (const auto found = at.find(beside); found != at.end()) relations.neighbours[block * 2 * dimensions + side] = found->second;
    }
    if (mesh.parents[block] < 0) continue;
    std::size_t child = 0;
    for (std::size_t axis = 0; axis < dimensions; ++axis) child |= static_cast<std::size_t>(position[axis] & 1) << axis;
    relations.which_child[block] = static_cast<std::int32_t>(child) + 1;
    relations.children[static_cast<std::size_t>(mesh.parents[block]) * of_each + child] = static_cast<std::int32_t>(block);
  }
  std::vector<bool> has_children(blocks, false);
  for (std::size_t i = 0; i < relations.children.size(); ++i) {
    if (relations.children[i] >= 0) has_children[i / of_each] = true;
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    if (!has_children[block]) continue;
    relations.node_types[block] = 3;
    for (std::size_t child = 0; child < of_each; ++child) {
      const std::int32_t id = relations.children[block * of_each + child];
      if (id >= 0 && !has_children[static_cast<std::size_t>(id)]) relations.node_types[block] = 2;
    }
  }
  return relations;
}

}  // namespace glean::mesh
