// SPDX-License-Identifier: BSD-3-Clause
//
// Faces and time steps, on any number of ranks: every rank runs all tests together with the others.
#include "maxwell.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstring>

#include "accuracy.hpp"

namespace nekcem {
namespace {

int this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

Mesh mesh_of(const Mesh::Box& box) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Role> roles(static_cast<std::size_t>(ranks), Role::computes);
  if (ranks > 2) roles[1] = Role::set_aside;
  return {box, even_runs(std::int64_t{box.elements[0]} * box.elements[1] * box.elements[2], roles), this_rank()};
}

double largest_of_ranks(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

struct Errors {
  double error, allowed, energy_change;
};

Errors errors_at(const Mesh::Box& box, const WaveguideMode& mode, double time, double courant = 0.8) {
  const Mesh mesh = mesh_of(box);
  FaceExchange exchange(MPI_COMM_WORLD, mesh);
  Maxwell maxwell(mesh, exchange);
  Fields fields = exact_fields(mesh, mode, 0);
  double before = energy(mesh, fields);
  const int steps = static_cast<int>(std::ceil(time / maxwell.stable_step(courant)));

  for (int step = 0; step < steps; ++step) maxwell.advance(fields, time / steps);

  double after = energy(mesh, fields);
  MPI_Allreduce(MPI_IN_PLACE, &before, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &after, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return {largest_of_ranks(largest_difference(fields, exact_fields(mesh, mode, time))), allowed_error(box, mode, steps, time / steps),
          after / before - 1};
}

const WaveguideMode::Shape modes[] = {{.polarisation = Polarisation::te, .m = 1, .n = 0},
                                      {.polarisation = Polarisation::te, .m = 1, .n = 1},
                                      {.polarisation = Polarisation::tm, .m = 2, .n = 1}};

TEST(FaceExchange, BringsTheNeighboursValuesAtTheSamePoints) {
  const Mesh mesh = mesh_of({.elements = {3, 2, 4}, .order = 2});
  FaceExchange exchange(MPI_COMM_WORLD, mesh);
  const std::size_t values = components * mesh.points_per_face();
  const auto value = [&](std::int64_t element, int face, std::size_t i) {
    return static_cast<double>(element * faces + face) * 1000 + static_cast<double>(i);
  };
  for (std::size_t local = 0; local < mesh.local_elements(); ++local) {
    const std::int64_t element = mesh.mine().first + static_cast<std::int64_t>(local);
    for (int face = 0; face < faces; ++face) {
      for (std::size_t i = 0; i < values; ++i) exchange.inside(local, face)[i] = value(element, face, i);
    }
  }

  exchange.start();
  exchange.finish();

  int wrong = 0;
  for (std::size_t local = 0; local < mesh.local_elements(); ++local) {
    for (int face = 0; face < faces; ++face) {
      const std::int64_t beyond = mesh.neighbour(mesh.mine().first + static_cast<std::int64_t>(local), face);
      const double* outside = exchange.outside(local, face);
      ASSERT_EQ(outside == nullptr, beyond == Mesh::wall);
      for (std::size_t i = 0; outside != nullptr && i < values; ++i) wrong += outside[i] != value(beyond, opposite(face), i);
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Maxwell, ConvergesExponentiallyWithTheOrder) {
  for (const auto& shape : modes) {
    const WaveguideMode mode(shape);
    double previous = errors_at({.elements = {2, 2, 3}, .order = 2}, mode, 0.125, 0.4).error;
    for (int order = 4; order <= 10; order += 2) {
      const Errors at = errors_at({.elements = {2, 2, 3}, .order = order}, mode, 0.125, 0.4);

      // The factor does not shrink, as it would with any fixed order in the distance of points.
      EXPECT_LT(at.error, previous / 10) << "N = " << order;
      previous = at.error;
    }
    EXPECT_LT(previous, 1e-7);
  }
}

TEST(Maxwell, IsAsExactAsItsCheckDemands) {
  for (const auto& shape : modes) {
    for (int order = 1; order <= 9; order += 4) {
      const Errors at = errors_at({.elements = {2, 2, 3}, .order = order}, WaveguideMode(shape), 0.25);

      EXPECT_LE(at.error, at.allowed) << "N = " << order;
    }
  }
}

TEST(Maxwell, LosesEnergyAndNeverGainsAny) {
  for (const auto& shape : modes) {
    const Errors coarse = errors_at({.elements = {2, 1, 3}, .order = 2}, WaveguideMode(shape), 1.0);
    const Errors fine = errors_at({.elements = {2, 1, 3}, .order = 8}, WaveguideMode(shape), 1.0);

    EXPECT_LT(coarse.energy_change, -1e-6);
    EXPECT_LT(std::abs(fine.energy_change), 1e-6);
    EXPECT_LT(fine.energy_change, 1e-12);
  }
}

TEST(Maxwell, GivesTheSameBitsOnAnyNumberOfRanks) {
  const WaveguideMode mode(modes[1]);
  const Mesh::Box box{.elements = {2, 2, 3}, .order = 3};
  const auto after_ten_steps = [&](MPI_Comm comm, const Mesh& mesh) {
    FaceExchange exchange(comm, mesh);
    Maxwell maxwell(mesh, exchange);
    Fields fields = exact_fields(mesh, mode, 0);
    for (int step = 0; step < 10; ++step) maxwell.advance(fields, maxwell.stable_step(0.8));
    return fields;
  };
  const Mesh shared = mesh_of(box), whole(box, even_runs(12, {Role::computes}), 0);

  const Fields in_parts = after_ten_steps(MPI_COMM_WORLD, shared), alone = after_ten_steps(MPI_COMM_SELF, whole);

  const std::size_t skipped = static_cast<std::size_t>(shared.mine().first) * shared.points_per_element();
  for (std::size_t c = 0; c < components; ++c) {
    const std::vector<double>& mine = in_parts.values[c];
    if (mine.empty()) continue;
    EXPECT_EQ(std::memcmp(mine.data(), alone.values[c].data() + skipped, mine.size() * sizeof(double)), 0) << "component " << c;
  }
}

}  // namespace
}  // namespace nekcem

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
