// SPDX-License-Identifier: BSD-3-Clause
//
// Meshes in parts, on any number of ranks: every rank runs all tests together with the others.
#include "checks.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>

namespace phasta {
namespace {

int this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int all_ranks() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

const Vortex vortex({});

Distance at_time(double time) {
  return [time](double x, double y, double z) { return vortex.distance(x, y, z, time); };
}

// Even numbers of trees are enough here.
Part part_of(const Forest& forest, const Distance& distance, double radius) {
  const std::vector<std::int64_t> alike(static_cast<std::size_t>(forest.trees()), 1);
  return make_part(forest, balanced(alike, all_ranks())[static_cast<std::size_t>(this_rank())], distance, radius);
}

double error_of(const Forest& forest, const Distance& distance, double radius, double time) {
  const Part part = part_of(forest, distance, radius);
  return interpolation_error(MPI_COMM_WORLD, part, solution_at(part, vortex, time), vortex, time);
}

TEST(CheckMesh, FindsThatPartsFitTogetherWhereverTheVortexIs) {
  const Forest forest({.cubes = {4, 4, 4}, .levels = 6});
  for (const double time : {0.0, 0.2, 0.5, 0.9}) {
    const Conformity found = check_mesh(MPI_COMM_WORLD, part_of(forest, at_time(time), 0.1), forest);

    EXPECT_TRUE(found.conforms()) << found.wrong_faces << " faces at " << time;
    EXPECT_GT(found.cells, 6 * 64);
  }
}

TEST(CheckMesh, CountsPartsThatHaveCells) {
  const Forest forest({.cubes = {1, 1, 1}, .levels = 0});

  const Conformity found = check_mesh(MPI_COMM_WORLD, part_of(forest, at_time(0), 0), forest);

  EXPECT_EQ(found.cells, 6);
  EXPECT_EQ(found.parts, std::min(6, all_ranks()));
  EXPECT_TRUE(found.conforms());
}

// What the check is for: one rank has the mesh of another time.
TEST(CheckMesh, FindsAPartThatDoesNotFit) {
  const Forest forest({.cubes = {4, 4, 4}, .levels = 6});
  const bool last = this_rank() + 1 == all_ranks();
  Part part = part_of(forest, at_time(last && all_ranks() > 1 ? 0.5 : 0.0), 0.1);
  if (all_ranks() == 1) part.cells.pop_back();

  const Conformity found = check_mesh(MPI_COMM_WORLD, part, forest);

  EXPECT_GT(found.wrong_faces, 0);
  EXPECT_FALSE(found.conforms());
}

TEST(InterpolationError, FallsByFourWithEachThreeLevelsOfTheWholeMesh) {
  double previous = 0;
  for (const int levels : {0, 3, 6}) {
    const Forest forest({.cubes = {8, 8, 8}, .levels = levels});
    const double error = error_of(forest, [](double, double, double) { return 0.0; }, 0, 0.1);
    if (levels == 6) {
      EXPECT_GT(previous / error, 3);
      EXPECT_LT(previous / error, 5);
    }
    previous = error;
  }
}

TEST(InterpolationError, FallsAsMuchWhenOnlyTheVortexIsRefined) {
  const Distance everywhere = [](double, double, double) { return 0.0; };
  const Forest forest({.cubes = {8, 8, 8}, .levels = 6});
  const Part part = part_of(forest, at_time(0.1), 0.15);
  const Part uniform = part_of(forest, everywhere, 0);

  const double adapted = interpolation_error(MPI_COMM_WORLD, part, solution_at(part, vortex, 0.1), vortex, 0.1);
  const double all_fine = interpolation_error(MPI_COMM_WORLD, uniform, solution_at(uniform, vortex, 0.1), vortex, 0.1);

  EXPECT_LT(adapted, 1.5 * all_fine);
  const std::int64_t cells = check_mesh(MPI_COMM_WORLD, part, forest).cells;
  EXPECT_LT(cells, check_mesh(MPI_COMM_WORLD, uniform, forest).cells / 2);
}

TEST(InterpolationError, OfALinearSolutionIsZero) {
  // Far from the vortex everything is constant.
  const Vortex far({.start = {9, 9, 9}});
  const Forest forest({.cubes = {2, 2, 2}, .levels = 2});
  const Part part = part_of(forest, [](double, double, double) { return 0.0; }, 0);

  EXPECT_LT(interpolation_error(MPI_COMM_WORLD, part, solution_at(part, far, 0), far, 0), 1e-15);
}

}  // namespace
}  // namespace phasta

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
