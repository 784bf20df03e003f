// SPDX-License-Identifier: BSD-3-Clause
//
// A mesh of several levels, on any number of ranks: every rank runs all tests together with the others.
#include "refinement.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "blast.hpp"
#include "hydro.hpp"
#include "resample.hpp"

namespace sedov {
namespace {

using Point = std::array<double, 3>;
using Gas = std::function<Primitive(const Point&)>;

// Calls visit(local block, cell x, y, z in the block, offset) for cells of blocks without children and `ghosts` layers along `axis`.
template <class Visit>
void for_cells(const Mesh& mesh, int axis, int ghosts, Visit visit) {
  Position reach{};
  reach[static_cast<std::size_t>(axis)] = ghosts;
  for (int block = 0; block < mesh.block_count(); ++block) {
    if (!mesh.is_leaf(block)) continue;
    for (int z = -reach[2]; z < block_cells + reach[2]; ++z) {
      for (int y = -reach[1]; y < block_cells + reach[1]; ++y) {
        for (int x = -reach[0]; x < block_cells + reach[0]; ++x) {
          visit(block, Position{x, y, z}, to_interior + x * cell_stride[0] + y * cell_stride[1] + z * cell_stride[2]);
        }
      }
    }
  }
}

Point centre_of(const Mesh& mesh, int block, const Position& cell) {
  Point centre = mesh.lower(mesh.first_block() + block);
  for (std::size_t axis = 0; axis < 3; ++axis) centre[axis] += (cell[axis] + 0.5) * mesh.cell_width(mesh.level(block));
  return centre;
}

void fill(Mesh& mesh, const Gas& gas) {
  for_cells(mesh, 0, 0, [&](int block, const Position& cell, std::ptrdiff_t offset) {
    set_gas(mesh, block, offset, gas(centre_of(mesh, block, cell)));
  });
}

// Changes the blocks whose middle is nearer to `point` than `distance`. Returns whether the mesh is another one then.
bool change_near(Mesh& mesh, const Point& point, double distance, Change change) {
  std::vector<Change> wanted(static_cast<std::size_t>(mesh.blocks_total()), Change::keep);
  for (int block = 0; block < mesh.blocks_total(); ++block) {
    const Point lower = mesh.lower(block);
    const double half = 0.5 * mesh.block_width(mesh.tree().level(block));
    const double away = std::hypot(lower[0] + half - point[0], lower[1] + half - point[1], lower[2] + half - point[2]);
    if (away < distance) wanted[static_cast<std::size_t>(block)] = change;
  }
  const Tree next = mesh.tree().changed(wanted);
  if (next == mesh.tree()) return false;
  restrict_to_parents(mesh);
  redistribute(mesh, next);
  return true;
}

// The middle of the 27 blocks of the domain [0, 1]³ has children, and the first of them too, so that seven blocks beside it have some.
Mesh three_levels(MPI_Comm comm) {
  Mesh mesh(comm, {3, 3, 3}, 1.0, 3);
  fill(mesh, [](const Point&) { return Primitive{1, 1, 0, 0, 0}; });
  change_near(mesh, {0.5, 0.5, 0.5}, 0.1, Change::refine);
  change_near(mesh, {0.41, 0.41, 0.41}, 0.1, Change::refine);
  return mesh;
}

const Gas waves = [](const Point& at) {
  return Primitive{1.5 + std::sin(7 * at[0]) * std::cos(9 * at[1] + 2 * at[2]), 1.2 + std::cos(5 * at[0] - 6 * at[2]),
                   std::sin(8 * at[1]), std::cos(11 * at[2]), std::sin(5 * at[0] + 3 * at[1])};
};

// Of mass, energy, momentum.
std::array<long double, 5> integrals(const Mesh& mesh) {
  std::array<long double, 5> sums{};
  for_cells(mesh, 0, 0, [&](int block, const Position&, std::ptrdiff_t offset) {
    const Conserved one = conserved_of(gas_of(mesh, block, offset));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += one[i] * std::pow(mesh.cell_width(mesh.level(block)), 3);
  });
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 5, MPI_LONG_DOUBLE, MPI_SUM, mesh.comm());
  return sums;
}

void expect_same(const std::array<long double, 5>& before, const std::array<long double, 5>& after) {
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(static_cast<double>(after[i] - before[i]), 0, 1e-14) << "sum " << i;
}

TEST(Mesh, GivesRanksAsManyLeavesAndParentsBesideTheirFirstChild) {
  const Mesh mesh = three_levels(MPI_COMM_WORLD);
  int ranks = 1, leaves = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int block = 0; block < mesh.block_count(); ++block) leaves += mesh.is_leaf(block) ? 1 : 0;

  EXPECT_EQ(mesh.tree().size(), 27 + 8 + 8 + 7 * 8);
  EXPECT_GE(leaves, mesh.tree().leaves() / ranks);
  EXPECT_LE(leaves, (mesh.tree().leaves() + ranks - 1) / ranks);
  EXPECT_TRUE(mesh.block_count() == 0 || mesh.is_leaf(mesh.block_count() - 1));
}

TEST(Redistribution, KeepsMassEnergyAndMomentumWhenBlocksComeAndGo) {
  Mesh mesh = three_levels(MPI_COMM_WORLD);
  Halo halo(mesh);
  fill(mesh, waves);
  halo.exchange();
  const auto before = integrals(mesh);

  ASSERT_TRUE(change_near(mesh, {0.6, 0.7, 0.8}, 0.4, Change::refine));
  expect_same(before, integrals(mesh));
  ASSERT_TRUE(change_near(mesh, {0.5, 0.5, 0.5}, 9, Change::coarsen));
  ASSERT_TRUE(change_near(mesh, {0.5, 0.5, 0.5}, 9, Change::coarsen));
  expect_same(before, integrals(mesh));
  EXPECT_EQ(mesh.tree().size(), 27);
}

TEST(Redistribution, GivesNewBlocksALinearFieldAsItIs) {
  Mesh mesh(MPI_COMM_WORLD, {2, 2, 2}, 1.0, 2);
  Halo halo(mesh);
  const Gas linear = [](const Point& at) { return Primitive{1 + at[0] + 2 * at[1] + 3 * at[2], 2 + at[1], 0, 0, 0}; };
  fill(mesh, linear);
  halo.exchange();

  ASSERT_TRUE(change_near(mesh, {0.5, 0.5, 0.5}, 9, Change::refine));

  for_cells(mesh, 0, 0, [&](int block, const Position& cell, std::ptrdiff_t offset) {
    const Point at = centre_of(mesh, block, cell);
    // The outermost coarse cells have mirrored neighbours.
    if (std::min({at[0], at[1], at[2]}) < 1.0 / 32 || std::max({at[0], at[1], at[2]}) > 1 - 1.0 / 32) return;
    ASSERT_NEAR(gas_of(mesh, block, offset)[0], linear(at)[0], 1e-13);
    ASSERT_NEAR(gas_of(mesh, block, offset)[1], linear(at)[1], 1e-13);
  });
}

TEST(Redistribution, KeepsPressurePositiveBesideAJump) {
  Mesh mesh(MPI_COMM_WORLD, {2, 1, 1}, 1.0, 2);
  Halo halo(mesh);
  // Cold and fast, over three cells: energy and momentum on a line between these leave less than nothing for the pressure.
  const Gas jump = [](const Point& at) {
    const double share = std::clamp((at[0] - 0.45) * 16, 0.0, 1.0);
    return Primitive{6 - 5 * share, 1e-5, 1 + 2 * share, 0, 0};
  };
  fill(mesh, jump);
  halo.exchange();
  const auto before = integrals(mesh);

  ASSERT_TRUE(change_near(mesh, {0.5, 0.5, 0.5}, 9, Change::refine));

  for_cells(mesh, 0, 0, [&](int block, const Position&, std::ptrdiff_t offset) {
    ASSERT_GT(gas_of(mesh, block, offset)[0], 0);
    ASSERT_GT(gas_of(mesh, block, offset)[1], 0);
  });
  expect_same(before, integrals(mesh));
}

TEST(Parents, HaveTheMeansOfTheirChildren) {
  Mesh mesh = three_levels(MPI_COMM_WORLD);
  fill(mesh, waves);
  const auto all = integrals(mesh);

  restrict_to_parents(mesh);

  std::array<long double, 5> of_roots{};
  for (int block = 0; block < mesh.block_count(); ++block) {
    if (mesh.level(block) != 1) continue;
    for (int cell = 0; cell < block_cells * block_cells * block_cells; ++cell) {
      const std::ptrdiff_t offset = to_interior + cell % block_cells + cell / block_cells % block_cells * cell_stride[1] +
                                    cell / (block_cells * block_cells) * cell_stride[2];
      const Conserved one = conserved_of(gas_of(mesh, block, offset));
      for (std::size_t i = 0; i < one.size(); ++i) of_roots[i] += one[i] * std::pow(mesh.cell_width(1), 3);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, of_roots.data(), 5, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect_same(all, of_roots);
}

TEST(Halo, ContinuesALinearFieldWhereLevelsMeet) {
  Mesh mesh = three_levels(MPI_COMM_WORLD);
  Halo halo(mesh);
  const Gas linear = [](const Point& at) {
    return Primitive{1 + at[0] + 2 * at[1] + 3 * at[2], 2 + at[1], 3 - at[2], at[0], at[0] + at[1]};
  };
  fill(mesh, linear);

  for (int pass = 0; pass < 2; ++pass) halo.exchange();   // the second finds all borders filled

  int seen = 0;
  for (int axis = 0; axis < 3; ++axis) {
    for_cells(mesh, axis, ghost_cells, [&](int block, const Position& cell, std::ptrdiff_t offset) {
      const int along = cell[static_cast<std::size_t>(axis)];
      const Point at = centre_of(mesh, block, cell);
      const double edge = mesh.cell_width(1);
      if ((along >= 0 && along < block_cells) || std::min({at[0], at[1], at[2]}) < edge) return;
      if (std::max({at[0], at[1], at[2]}) > 1 - edge) return;
      const Side side = along < 0 ? Side::lower : Side::upper;
      if (mesh.tree().beside(mesh.first_block() + block, axis, side).kind == Beside::Kind::same) return;
      ++seen;
      ASSERT_NEAR(gas_of(mesh, block, offset)[0], linear(at)[0], 1e-13);
      // Means of pressure and velocity are those of energy and momentum, where finer blocks give them.
      for (std::size_t i = 1; i < 5; ++i) ASSERT_NEAR(gas_of(mesh, block, offset)[i], linear(at)[i], 1e-2);
    });
  }
  MPI_Allreduce(MPI_IN_PLACE, &seen, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_GT(seen, 1000);
}

TEST(Hydro, KeepsMassAndEnergyWhereAShockCrossesLevels) {
  Mesh mesh = three_levels(MPI_COMM_WORLD);
  Halo halo(mesh);
  Hydro hydro(mesh, halo);
  const auto burst = [](const Point& at) {   // beside the finest blocks
    const bool hot = std::hypot(at[0] - 0.4, at[1] - 0.4, at[2] - 0.45) < 0.1;
    return Primitive{1, hot ? 100.0 : 0.01, 0, 0, 0};
  };
  fill(mesh, burst);
  const auto before = integrals(mesh);

  for (int step = 0; step < 20; ++step) hydro.advance(hydro.stable_step(0.5));

  const auto after = integrals(mesh);
  EXPECT_NEAR(static_cast<double>(after[0] / before[0]), 1, 1e-13);
  EXPECT_NEAR(static_cast<double>(after[1] / before[1]), 1, 1e-13);
}

TEST(Hydro, LeavesGasAtRestAtRestOnSeveralLevels) {
  Mesh mesh = three_levels(MPI_COMM_WORLD);
  Halo halo(mesh);
  Hydro hydro(mesh, halo);

  for (int step = 0; step < 5; ++step) hydro.advance(hydro.stable_step(0.8));

  for_cells(mesh, 0, 0, [&](int block, const Position&, std::ptrdiff_t offset) {
    ASSERT_NEAR(gas_of(mesh, block, offset)[0], 1, 1e-14);
    ASSERT_NEAR(gas_of(mesh, block, offset)[2], 0, 1e-14);
  });
}

TEST(Estimator, SeesJumpsAndNeitherSlopesNorRipples) {
  Mesh mesh(MPI_COMM_WORLD, {4, 1, 1}, 1.0);
  Halo halo(mesh);
  const auto error_of = [&](const Gas& gas) {
    fill(mesh, gas);
    halo.exchange();
    double worst = 0;
    for (int block = 0; block < mesh.block_count(); ++block) {
      const Point lower = mesh.lower(mesh.first_block() + block);
      if (lower[0] > 0.1 && lower[0] < 0.7) worst = std::max(worst, estimate_error(mesh, block));   // away from mirrors
    }
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return worst;
  };

  EXPECT_NEAR(error_of([](const Point& at) { return Primitive{1 + at[0], 2 - at[0], 0, 0, 0}; }), 0, 1e-10);
  EXPECT_GT(error_of([](const Point& at) { return Primitive{at[0] < 0.5 ? 1.0 : 4.0, 1, 0, 0, 0}; }), refine_above);
  EXPECT_LT(error_of([](const Point& at) { return Primitive{1, 1 + 1e-3 * std::sin(500 * at[0]), 0, 0, 0}; }), coarsen_below);
}

TEST(Adapt, FollowsAJumpAndLeavesWhatIsSmooth) {
  Mesh mesh(MPI_COMM_WORLD, {2, 2, 2}, 1.0, 3);
  Halo halo(mesh);
  const auto shell = [](double radius) {
    return [radius](const Point& at) { return Primitive{std::hypot(at[0], at[1], at[2]) < radius ? 4.0 : 1.0, 1, 0, 0, 0}; };
  };
  const auto settle = [&](double radius) {
    for (int round = 0; round < 4; ++round) {
      fill(mesh, shell(radius));
      adapt(mesh, halo);
    }
    fill(mesh, shell(radius));
    return mesh.tree();
  };

  const Tree small = settle(0.2), large = settle(0.6), again = settle(0.2);

  EXPECT_EQ(small, again);
  EXPECT_LT(small.leaves(), large.leaves());
  EXPECT_FALSE(adapt(mesh, halo));
  for (int block = 0; block < small.size(); ++block) {   // the jump is in the finest blocks only
    const Place place = small.place(block);
    if (!small.is_leaf(block) || place.level == 3) continue;
    const double width = mesh.block_width(place.level);
    const double near = std::hypot(place.at[0], place.at[1], place.at[2]) * width;
    const double far = std::hypot(place.at[0] + 1, place.at[1] + 1, place.at[2] + 1) * width;
    EXPECT_TRUE(far < 0.2 || near > 0.2) << "block " << block;
  }
}

// What is on the mesh after a few steps of the blast that change it.
Mesh blast(MPI_Comm comm) {
  Mesh mesh(comm, {1, 1, 1}, 0.5, 3);
  Halo halo(mesh);
  Hydro hydro(mesh, halo);
  set_blast(mesh);
  while (adapt(mesh, halo)) set_blast(mesh);
  for (int step = 0; step < 24; ++step) {
    if (step % 4 == 0) adapt(mesh, halo);
    hydro.advance((step == 0 ? 0.1 : 0.6) * hydro.stable_step(0.8));
  }
  return mesh;
}

TEST(Blast, GivesTheSameCellsOnAnyNumberOfRanks) {
  const Mesh alone = blast(MPI_COMM_SELF), shared = blast(MPI_COMM_WORLD);

  ASSERT_EQ(alone.tree(), shared.tree());
  EXPECT_GT(alone.tree().size(), 9);
  int different = 0;
  for_cells(shared, 0, 0, [&](int block, const Position&, std::ptrdiff_t offset) {
    different += gas_of(shared, block, offset) != gas_of(alone, shared.first_block() + block, offset) ? 1 : 0;
  });
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace sedov

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
