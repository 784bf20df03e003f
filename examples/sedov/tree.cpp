// SPDX-License-Identifier: BSD-3-Clause
#include "tree.hpp"

#include <algorithm>
#include <unordered_set>

namespace sedov {

namespace {

constexpr int axis_bits = 19;   // most_roots blocks of level 1, each halved most_levels - 1 times

// Calls visit(place) for the places of the same level that touch this one at a face, an edge or a corner.
template <class Visit>
void for_each_touching(const Tree& tree, const Place& place, Visit visit) {
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        const Place other = {place.level, {place.at[0] + x, place.at[1] + y, place.at[2] + z}};
        if ((x != 0 || y != 0 || z != 0) && tree.inside(other)) visit(other);
      }
    }
  }
}

}  // namespace

Place child_of(const Place& parent, int child) {
  const Position half = octant(child);
  return {parent.level + 1, {2 * parent.at[0] + half[0], 2 * parent.at[1] + half[1], 2 * parent.at[2] + half[2]}};
}

Place parent_of(const Place& child) { return {child.level - 1, {child.at[0] / 2, child.at[1] / 2, child.at[2] / 2}}; }

int child_number(const Place& child) { return (child.at[0] & 1) + 2 * (child.at[1] & 1) + 4 * (child.at[2] & 1); }

Tree::Tree(const Position& roots) : roots_(roots) {
  for (int z = 0; z < roots[2]; ++z) {
    for (int y = 0; y < roots[1]; ++y) {
      for (int x = 0; x < roots[0]; ++x) keys_.push_back(key_of({1, {x, y, z}}));
    }
  }
  std::sort(keys_.begin(), keys_.end());
  leaves_ = size();
}

Tree::Key Tree::key_of(const Place& place) {
  Key morton = 0;
  const int shift = most_levels - place.level;
  for (int bit = 0; bit < axis_bits; ++bit) {
    for (int axis = 0; axis < 3; ++axis) {
      const Key coordinate = static_cast<Key>(place.at[static_cast<std::size_t>(axis)]) << shift;
      morton |= ((coordinate >> bit) & 1U) << (3 * bit + axis);
    }
  }
  return morton << level_bits | static_cast<Key>(place.level);
}

Place Tree::place(int block) const {
  Place place{level(block), {}};
  const Key morton = key(block) >> level_bits;
  for (int axis = 0; axis < 3; ++axis) {
    int& coordinate = place.at[static_cast<std::size_t>(axis)];
    for (int bit = 0; bit < axis_bits; ++bit) coordinate |= static_cast<int>((morton >> (3 * bit + axis)) & 1U) << bit;
    coordinate >>= most_levels - place.level;
  }
  return place;
}

bool Tree::inside(const Place& place) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (place.at[axis] < 0 || place.at[axis] >= roots_[axis] << (place.level - 1)) return false;
  }
  return true;
}

int Tree::find(const Place& place) const {
  const Key wanted = key_of(place);
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), wanted);
  return found != keys_.end() && *found == wanted ? static_cast<int>(found - keys_.begin()) : -1;
}

int Tree::parent(int block) const { return level(block) == 1 ? -1 : find(parent_of(place(block))); }

std::array<int, 8> Tree::children(int block) const {
  std::array<int, 8> found{};
  const Place parent = place(block);
  for (int child = 0; child < 8; ++child) found[static_cast<std::size_t>(child)] = find(child_of(parent, child));
  return found;
}

Beside Tree::beside(int block, int axis, Side side) const {
  const auto along = static_cast<std::size_t>(axis);
  const auto [fast, slow] = axes_across[along];
  const Place own = place(block);
  Place behind = own;
  behind.at[along] += side == Side::lower ? -1 : 1;
  Beside found;
  if (!inside(behind)) return found;

  found.blocks[0] = find(behind);
  if (found.blocks[0] < 0) {
    found.kind = Beside::Kind::coarser;
    found.blocks[0] = find(parent_of(behind));
    found.quadrant = (own.at[fast] & 1) + 2 * (own.at[slow] & 1);
  } else if (is_leaf(found.blocks[0])) {
    found.kind = Beside::Kind::same;
  } else {
    found.kind = Beside::Kind::finer;
    for (int quadrant = 0; quadrant < 4; ++quadrant) {
      Position half{};
      half[along] = side == Side::lower ? 1 : 0;   // the children that touch this block
      half[fast] = quadrant & 1;
      half[slow] = quadrant >> 1;
      found.blocks[static_cast<std::size_t>(quadrant)] = find(child_of(behind, half[0] + 2 * half[1] + 4 * half[2]));
    }
  }
  return found;
}

Tree Tree::changed(const std::vector<Change>& wanted) const {
  std::unordered_set<Key> parents;   // the whole tree: what is no parent, and a child of one, is a leaf
  std::vector<Place> to_refine;
  for (int block = 0; block < size(); ++block) {
    if (!is_leaf(block)) parents.insert(key(block));
    else if (wanted[static_cast<std::size_t>(block)] == Change::refine) to_refine.push_back(place(block));
  }

  // Balance: what touches a parent is there in its own level, so that its parent is one.
  while (!to_refine.empty()) {
    const Place refined = to_refine.back();
    to_refine.pop_back();
    if (!parents.insert(key_of(refined)).second || refined.level == 1) continue;
    for_each_touching(*this, refined, [&](const Place& other) {
      if (!parents.contains(key_of(parent_of(other)))) to_refine.push_back(parent_of(other));
    });
  }

  // The finest first, since the blocks that go may be what keeps coarser ones.
  const auto may_go = [&](int block) {
    const auto found = children(block);
    return std::all_of(found.begin(), found.end(), [&](int child) {
      if (wanted[static_cast<std::size_t>(child)] != Change::coarsen || !is_leaf(child) || parents.contains(key(child))) return false;
      bool touches_parent = false;
      for_each_touching(*this, place(child), [&](const Place& other) { touches_parent |= parents.contains(key_of(other)); });
      return !touches_parent;
    });
  };
  for (int coarse = most_levels - 1; coarse >= 1; --coarse) {
    for (int block = 0; block < size(); ++block) {
      if (level(block) == coarse && !is_leaf(block) && may_go(block)) parents.erase(key(block));
    }
  }

  Tree made(roots_);
  std::vector<Place> open;
  for (int root = 0; root < made.size(); ++root) open.push_back(made.place(root));
  made.leaves_ = 0;
  while (!open.empty()) {
    const Place place = open.back();
    open.pop_back();
    if (place.level > 1) made.keys_.push_back(key_of(place));
    if (!parents.contains(key_of(place))) {
      ++made.leaves_;
      continue;
    }
    for (int child = 0; child < 8; ++child) open.push_back(child_of(place, child));
  }
  std::sort(made.keys_.begin(), made.keys_.end());
  return made;
}

}  // namespace sedov
