// SPDX-License-Identifier: BSD-3-Clause
#include "tree.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace sedov {
namespace {

std::vector<Change> all(const Tree& tree, Change change) { return std::vector<Change>(static_cast<std::size_t>(tree.size()), change); }

// Refines and coarsens by chance, so that all kinds of neighbours occur.
Tree grown_by_chance(unsigned seed, int levels) {
  std::minstd_rand random(seed);
  Tree tree({2, 3, 1});
  for (int round = 0; round < 12; ++round) {
    std::vector<Change> wanted = all(tree, Change::keep);
    for (int block = 0; block < tree.size(); ++block) {
      const auto chance = random() % 8;
      if (chance == 0 && tree.level(block) < levels) wanted[static_cast<std::size_t>(block)] = Change::refine;
      if (chance > 1 && round % 3 == 2) wanted[static_cast<std::size_t>(block)] = Change::coarsen;
    }
    tree = tree.changed(wanted);
  }
  return tree;
}

TEST(Tree, NumbersBlocksAlongTheMortonCurveWithParentsBeforeTheirChildren) {
  Tree tree({2, 1, 1});
  std::vector<Change> wanted = all(tree, Change::keep);
  wanted[1] = Change::refine;

  tree = tree.changed(wanted);

  ASSERT_EQ(tree.size(), 10);
  EXPECT_EQ(tree.leaves(), 9);
  EXPECT_TRUE(tree.is_leaf(0));
  EXPECT_FALSE(tree.is_leaf(1));
  EXPECT_EQ(tree.parent(0), -1);
  const auto children = tree.children(1);
  for (int child = 0; child < 8; ++child) {
    EXPECT_EQ(children[static_cast<std::size_t>(child)], 2 + child);
    EXPECT_EQ(tree.parent(2 + child), 1);
    EXPECT_EQ(tree.level(2 + child), 2);
    EXPECT_EQ(tree.place(2 + child).at, (Position{2 + child % 2, child / 2 % 2, child / 4}));
  }
}

TEST(Tree, FindsEveryBlockByItsPlaceInTheDeepestAndWidestTreeThatThereMayBe) {
  Tree tree({Tree::most_roots, 1, 1});
  for (int level = 1; level < Tree::most_levels; ++level) {
    std::vector<Change> wanted = all(tree, Change::keep);
    wanted.back() = Change::refine;   // the corner with the largest coordinates
    tree = tree.changed(wanted);
  }

  EXPECT_EQ(tree.level(tree.size() - 1), Tree::most_levels);
  EXPECT_EQ(tree.place(tree.size() - 1).at[0], (Tree::most_roots << (Tree::most_levels - 1)) - 1);
  for (int block = 0; block < tree.size(); ++block) ASSERT_EQ(tree.find(tree.place(block)), block);
}

TEST(Tree, StaysBalancedAtFacesEdgesAndCornersAndCoversTheDomain) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Tree tree = grown_by_chance(seed, 5);
    double volume = 0;
    int deepest = 0;
    for (int block = 0; block < tree.size(); ++block) {
      const Place place = tree.place(block);
      deepest = std::max(deepest, place.level);
      if (!tree.is_leaf(block)) continue;
      volume += 1.0 / (1 << 3 * (place.level - 1));
      for (int code = 0; code < 27; ++code) {
        Place beside = place;
        beside.at = {place.at[0] + code % 3 - 1, place.at[1] + code / 3 % 3 - 1, place.at[2] + code / 9 - 1};
        if (!tree.inside(beside)) continue;
        ASSERT_TRUE(tree.find(beside) >= 0 || tree.find(parent_of(beside)) >= 0) << "block " << block << ", seed " << seed;
      }
    }
    EXPECT_DOUBLE_EQ(volume, 6);
    EXPECT_EQ(deepest, 5);
  }
}

TEST(Tree, TellsTheSameOfAFaceFromBothSides) {
  const Tree tree = grown_by_chance(7, 4);
  int finer = 0, coarser = 0;
  for (int block = 0; block < tree.size(); ++block) {
    if (!tree.is_leaf(block)) continue;
    for (int axis = 0; axis < 3; ++axis) {
      for (const Side side : {Side::lower, Side::upper}) {
        const Beside beside = tree.beside(block, axis, side);
        if (beside.kind == Beside::Kind::same) {
          EXPECT_EQ(tree.beside(beside.blocks[0], axis, opposite(side)).blocks[0], block);
        } else if (beside.kind == Beside::Kind::finer) {
          for (int quadrant = 0; quadrant < 4; ++quadrant, ++finer) {
            const Beside back = tree.beside(beside.blocks[static_cast<std::size_t>(quadrant)], axis, opposite(side));
            ASSERT_EQ(back.kind, Beside::Kind::coarser);
            EXPECT_EQ(back.blocks[0], block);
            EXPECT_EQ(back.quadrant, quadrant);
          }
        } else if (beside.kind == Beside::Kind::coarser) {
          ++coarser;
          EXPECT_EQ(tree.level(beside.blocks[0]), tree.level(block) - 1);
        }
      }
    }
  }
  EXPECT_EQ(finer, coarser);
  EXPECT_GT(finer, 0);
}

TEST(Tree, TakesChildrenAwayOnlyTogetherAndWhereNoFinerBlockTouchesThem) {
  const Tree roots({2, 1, 1});
  const Tree halves = roots.changed(all(roots, Change::refine));
  std::vector<Change> deeper = all(halves, Change::keep);
  deeper[2] = Change::refine;   // the second child of the first root, which touches the other root
  const Tree three_levels = halves.changed(deeper);

  std::vector<Change> but_one = all(halves, Change::coarsen);
  but_one[3] = Change::keep;
  const Tree one_root_less = halves.changed(but_one);
  const Tree touched = three_levels.changed([&] {
    std::vector<Change> wanted = all(three_levels, Change::coarsen);
    wanted[3] = Change::keep;   // the first block of level 3
    return wanted;
  }());

  EXPECT_EQ(halves.changed(all(halves, Change::coarsen)), roots);
  EXPECT_EQ(one_root_less.size(), 10);
  EXPECT_EQ(touched, three_levels);
}

TEST(Tree, RefinesWhatWouldElseTouchABlockOfTwoLevelsMore) {
  Tree tree({2, 2, 2});
  for (int level = 1; level < 3; ++level) {
    std::vector<Change> wanted = all(tree, Change::keep);
    wanted[static_cast<std::size_t>(level == 1 ? 0 : 8)] = Change::refine;   // at last the child in the middle of the domain
    tree = tree.changed(wanted);
  }

  EXPECT_EQ(tree.leaves(), 8 * 8 - 1 + 8);   // all others have children too
}

}  // namespace
}  // namespace sedov
