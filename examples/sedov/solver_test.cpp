// SPDX-License-Identifier: BSD-3-Clause
//
// Mesh, ghost cells and sweeps, on any number of ranks: every rank runs all tests together with the others.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "blast.hpp"
#include "hydro.hpp"

namespace sedov {
namespace {

// Calls visit(local block, x, y, z, offset in the padded block); coordinates count cells of the whole domain
// from 0.
template <class Visit>
void for_cells(const Mesh& mesh, int ghosts_along, Visit visit) {
  for (int block = 0; block < mesh.block_count(); ++block) {
    const Position at = mesh.tree().place(mesh.first_block() + block).at;
    int reach[3] = {0, 0, 0};
    if (ghosts_along >= 0) reach[ghosts_along] = ghost_cells;
    for (int z = -reach[2]; z < block_cells + reach[2]; ++z) {
      for (int y = -reach[1]; y < block_cells + reach[1]; ++y) {
        for (int x = -reach[0]; x < block_cells + reach[0]; ++x) {
          visit(block, at[0] * block_cells + x, at[1] * block_cells + y, at[2] * block_cells + z,
                (x + ghost_cells) * cell_stride[0] + (y + ghost_cells) * cell_stride[1] +
                    (z + ghost_cells) * cell_stride[2]);
        }
      }
    }
  }
}

int mirrored(int cell, int cells) {
  return cell < 0 ? -1 - cell : cell >= cells ? 2 * cells - 1 - cell : cell;
}

TEST(Mesh, GivesEveryBlockToTheRankThatOwnerNames) {
  const Mesh mesh(MPI_COMM_WORLD, {3, 2, 1}, 1.0);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  int held = 0;
  for (int block = 0; block < mesh.blocks_total(); ++block) {
    const bool mine = block >= mesh.first_block() && block < mesh.first_block() + mesh.block_count();
    EXPECT_EQ(mine, mesh.owner(block) == rank) << "block " << block << " on rank " << rank;
    EXPECT_EQ(mesh.tree().find(mesh.tree().place(block)), block);
    held += mine;
  }
  MPI_Allreduce(MPI_IN_PLACE, &held, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  EXPECT_EQ(held, 6);
}

TEST(Halo, BringsTheCellsOfNeighboursAndMirrorsAtTheFacesOfTheDomain) {
  Mesh mesh(MPI_COMM_WORLD, {2, 3, 2}, 1.0);
  Halo halo(mesh);
  const auto value = [](int variable, int x, int y, int z) {
    return 1 + variable + 10 * x + 1e4 * y + 1e7 * z;
  };
  for_cells(mesh, -1, [&](int block, int x, int y, int z, std::ptrdiff_t offset) {
    for (const int variable : state_variables) mesh.cells(block, variable)[offset] = value(variable, x, y, z);
  });

  for (int axis = 0; axis < 3; ++axis) halo.exchange(axis);

  int wrong = 0;
  for (int axis = 0; axis < 3; ++axis) {
    for_cells(mesh, axis, [&](int block, int x, int y, int z, std::ptrdiff_t offset) {
      const int mx = mirrored(x, 32), my = mirrored(y, 48), mz = mirrored(z, 32);
      const bool outside = mx != x || my != y || mz != z;
      for (const int variable : state_variables) {
        const double sign = outside && variable == velx + axis ? -1 : 1;
        wrong += mesh.cells(block, variable)[offset] != sign * value(variable, mx, my, mz);
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

// A standing sound wave between the mirrors, for one full period: how far it is from where it began.
double standing_wave_error(int blocks_along, int axis) {
  constexpr double amplitude = 1e-4, width = 1.0;
  Position blocks = {1, 1, 1};
  blocks[static_cast<std::size_t>(axis)] = blocks_along;
  Mesh mesh(MPI_COMM_WORLD, blocks, width);
  Halo halo(mesh);
  Hydro hydro(mesh, halo);
  const double sound = 1.0, density = gas_gamma, period = 2 * width / sound;
  const auto wave = [&](int x, int y, int z) {
    const int along = axis == 0 ? x : axis == 1 ? y : z;
    return amplitude * std::cos(std::numbers::pi * (along + 0.5) * mesh.cell_width() / width);
  };
  for_cells(mesh, -1, [&](int block, int x, int y, int z, std::ptrdiff_t offset) {
    mesh.cells(block, dens)[offset] = density * (1 + wave(x, y, z));
    mesh.cells(block, pres)[offset] = 1 + gas_gamma * wave(x, y, z);
  });

  const int steps = static_cast<int>(std::ceil(period / (0.5 * mesh.cell_width() / sound)));
  for (int step = 0; step < steps; ++step) hydro.advance(period / steps);

  double error = 0;
  for_cells(mesh, -1, [&](int block, int x, int y, int z, std::ptrdiff_t offset) {
    error += std::abs(mesh.cells(block, pres)[offset] - 1 - gas_gamma * wave(x, y, z));
  });
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return error / (mesh.blocks_total() * std::pow(block_cells, 3) * amplitude);
}

TEST(Hydro, IsOfSecondOrderAlongEveryAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    const double coarse = standing_wave_error(2, axis);
    const double fine = standing_wave_error(4, axis);
    EXPECT_GT(std::log2(coarse / fine), 1.7) << "axis " << axis << ": " << coarse << " and " << fine;
  }
}

// The star state of the exact solution: pressure 0.30313, velocity 0.92745, density 0.42632 left of the
// contact.
TEST(Hydro, SolvesSodsTubeAlongEveryAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    Position blocks = {1, 1, 1};
    blocks[static_cast<std::size_t>(axis)] = 6;
    Mesh mesh(MPI_COMM_WORLD, blocks, 1.0);
    Halo halo(mesh);
    Hydro hydro(mesh, halo);
    const auto along = [axis](int x, int y, int z) { return axis == 0 ? x : axis == 1 ? y : z; };
    for_cells(mesh, -1, [&](int block, int x, int y, int z, std::ptrdiff_t offset) {
      mesh.cells(block, dens)[offset] = along(x, y, z) < 48 ? 1.0 : 0.125;
      mesh.cells(block, pres)[offset] = along(x, y, z) < 48 ? 1.0 : 0.1;
    });

    double time = 0;
    while (time < 0.2) {
      const double dt = std::min(hydro.stable_step(0.8), 0.2 - time);
      hydro.advance(dt);
      time += dt;
    }

    for_cells(mesh, -1, [&](int block, int x, int y, int z, std::ptrdiff_t offset) {
      if (along(x, y, z) != 58) return;   // 0.61 of the tube, between rarefaction and contact
      EXPECT_NEAR(mesh.cells(block, pres)[offset], 0.30313, 0.002);
      EXPECT_NEAR(mesh.cells(block, velx + axis)[offset], 0.92745, 0.01);
      EXPECT_NEAR(mesh.cells(block, dens)[offset], 0.42632, 0.01);
      EXPECT_DOUBLE_EQ(mesh.cells(block, velx + (axis + 1) % 3)[offset], 0);
    });
  }
}

TEST(Hydro, LeavesGasAtRestAtRest) {
  Mesh mesh(MPI_COMM_WORLD, {2, 1, 1}, 1.0);
  Halo halo(mesh);
  Hydro hydro(mesh, halo);
  for_cells(mesh, -1, [&](int block, int x, int, int, std::ptrdiff_t offset) {
    mesh.cells(block, dens)[offset] = x < 11 ? 1.0 : 0.1;   // a contact, which must not smear
    mesh.cells(block, pres)[offset] = 0.7;
  });

  for (int step = 0; step < 10; ++step) hydro.advance(hydro.stable_step(0.8));

  for_cells(mesh, -1, [&](int block, int x, int, int, std::ptrdiff_t offset) {
    ASSERT_DOUBLE_EQ(mesh.cells(block, dens)[offset], x < 11 ? 1.0 : 0.1);
    ASSERT_NEAR(mesh.cells(block, velx)[offset], 0, 1e-15);
  });
}

TEST(Blast, PutsAnEighthOfTheEnergyIntoTheOctant) {
  Mesh mesh(MPI_COMM_WORLD, {2, 2, 2}, 0.5);
  Halo halo(mesh);
  Hydro hydro(mesh, halo);
  set_blast(mesh);
  hydro.complete_state();

  const Totals sums = totals(mesh);

  EXPECT_NEAR(sums.mass, 0.125, 1e-14);
  EXPECT_NEAR(sums.energy, blast_energy / 8 + 0.125 * ambient_pressure / (gas_gamma - 1), 1e-13);
}

TEST(Checks, FailWhenEnergyIsLostOrTheShockIsElsewhere) {
  const Checks good = {.mass_error = 1e-15, .energy_error = -1e-14, .radius = 0.31, .exact_radius = 0.305,
                       .shock_checked = true};
  Checks lossy = good, slow = good, young = good;
  lossy.energy_error = -1e-9;
  slow.radius = 0.29;
  young.radius = 0;
  young.shock_checked = false;

  EXPECT_TRUE(good.passed());
  EXPECT_FALSE(lossy.passed());
  EXPECT_FALSE(slow.passed());
  EXPECT_TRUE(young.passed());
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
