// SPDX-License-Identifier: BSD-3-Clause
//
// Which blocks there are: a tree in which a block of one level has no children or eight, each half as wide as it, as in PARAMESH.
//
// Blocks of level 1 fill the domain. The tree is balanced: blocks that touch, be it at a corner, differ by at most one level if
// neither has children. Blocks are numbered along a Morton curve, a parent just before its first child.
//
// Every rank keeps the whole tree, 8 bytes for each block of all ranks, and so finds neighbours and their owners without a message.
// That is enough for the meshes of this example; a mesh for a whole machine would keep its own part and the neighbours of that.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sedov {

using Position = std::array<int, 3>;   // of a block among the blocks of its level: x, y, z

struct Place {
  int level = 1;
  Position at{};
};

enum class Side { lower, upper };

[[nodiscard]] inline Side opposite(Side side) { return side == Side::lower ? Side::upper : Side::lower; }

// The two axes across an axis, the faster one in memory first.
inline constexpr std::array<std::array<std::size_t, 2>, 3> axes_across = {{{1, 2}, {0, 2}, {0, 1}}};

// What a block without children has behind one of its faces.
struct Beside {
  enum class Kind { outside, same, coarser, finer };
  Kind kind = Kind::outside;
  // One block without children; four where they are finer, the first of `axes_across` changing faster.
  std::array<int, 4> blocks = {-1, -1, -1, -1};
  int quadrant = 0;   // of the coarser block's face, that this block touches: numbered as `blocks`
};

enum class Change : std::uint8_t { keep, refine, coarsen };

class Tree {
 public:
  static constexpr int most_levels = 10;
  static constexpr int most_roots = 1024;   // along each axis

  // Blocks of level 1 only.
  explicit Tree(const Position& roots);

  // The tree after a change, `wanted` of each block, in which blocks without children count. More blocks are refined where balance
  // wants it; eight children go only if all of them are to be coarsened and balance allows it. Pure.
  [[nodiscard]] Tree changed(const std::vector<Change>& wanted) const;

  [[nodiscard]] int size() const { return static_cast<int>(keys_.size()); }
  [[nodiscard]] int leaves() const { return leaves_; }
  [[nodiscard]] const Position& roots() const { return roots_; }

  // Of a block, by number.
  [[nodiscard]] int level(int block) const { return static_cast<int>(key(block) & level_mask); }
  [[nodiscard]] Place place(int block) const;
  [[nodiscard]] bool is_leaf(int block) const { return block + 1 == size() || level(block + 1) <= level(block); }
  [[nodiscard]] int parent(int block) const;                       // -1: none
  [[nodiscard]] std::array<int, 8> children(int block) const;      // of a block that has some; x fastest
  [[nodiscard]] Beside beside(int block, int axis, Side side) const;   // of a block without children

  [[nodiscard]] bool inside(const Place& place) const;
  [[nodiscard]] int find(const Place& place) const;   // -1: there is no such block

  friend bool operator==(const Tree&, const Tree&) = default;

 private:
  // Morton number of the block's lower corner among the finest possible blocks, and its level: in this order parents precede children.
  using Key = std::uint64_t;
  static constexpr int level_bits = 5;
  static constexpr Key level_mask = (1U << level_bits) - 1;

  static Key key_of(const Place& place);
  [[nodiscard]] Key key(int block) const { return keys_[static_cast<std::size_t>(block)]; }

  Position roots_;
  std::vector<Key> keys_;   // ascending
  int leaves_ = 0;
};

// One of eight children: 0 or 1 along each axis.
[[nodiscard]] inline Position octant(int child) { return {child & 1, child >> 1 & 1, child >> 2 & 1}; }
[[nodiscard]] Place child_of(const Place& parent, int child);
[[nodiscard]] Place parent_of(const Place& child);
[[nodiscard]] int child_number(const Place& child);   // of its parent

}  // namespace sedov
