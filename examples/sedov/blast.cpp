// SPDX-License-Identifier: BSD-3-Clause
#include "blast.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gas.hpp"
#include "resample.hpp"

namespace sedov {

namespace {

// Calls visit(local block, offset from the first interior cell, centre of the cell) for the cells of blocks without children.
template <class Visit>
void for_each_cell(const Mesh& mesh, Visit visit) {
  for (int block = 0; block < mesh.block_count(); ++block) {
    if (!mesh.is_leaf(block)) continue;
    const double width = mesh.cell_width(mesh.level(block));
    const std::array<double, 3> lower = mesh.lower(mesh.first_block() + block);
    for (int z = 0; z < block_cells; ++z) {
      for (int y = 0; y < block_cells; ++y) {
        for (int x = 0; x < block_cells; ++x) {
          visit(block, z * cell_stride[2] + y * cell_stride[1] + x,
                std::array{lower[0] + (x + 0.5) * width, lower[1] + (y + 0.5) * width,
                           lower[2] + (z + 0.5) * width});
        }
      }
    }
  }
}

// Share of a cell that lies in the sphere, by sampling.
double covered(const std::array<double, 3>& centre, double width, double radius) {
  constexpr int samples = 8;
  int inside = 0;
  for (int k = 0; k < samples; ++k) {
    for (int j = 0; j < samples; ++j) {
      for (int i = 0; i < samples; ++i) {
        const auto at = [&](double middle, int n) { return middle + ((n + 0.5) / samples - 0.5) * width; };
        inside += std::hypot(at(centre[0], i), at(centre[1], j), at(centre[2], k)) < radius;
      }
    }
  }
  return static_cast<double>(inside) / (samples * samples * samples);
}

double distance(const std::array<double, 3>& centre) { return std::hypot(centre[0], centre[1], centre[2]); }

}  // namespace

void set_blast(Mesh& mesh) {
  const double radius = deposit_radius_cells * mesh.cell_width();
  double volume = 0;   // of the sphere as the cells see it, so that exactly the wanted energy is in it
  for_each_cell(mesh, [&](int block, std::ptrdiff_t, const std::array<double, 3>& centre) {
    const double width = mesh.cell_width(mesh.level(block));
    if (distance(centre) < radius + width) volume += covered(centre, width, radius) * width * width * width;
  });
  MPI_Allreduce(MPI_IN_PLACE, &volume, 1, MPI_DOUBLE, MPI_SUM, mesh.comm());

  const double hot_pressure = (gas_gamma - 1) * (blast_energy / 8) / volume;
  for_each_cell(mesh, [&](int block, std::ptrdiff_t cell, const std::array<double, 3>& centre) {
    const double width = mesh.cell_width(mesh.level(block));
    const double share = distance(centre) < radius + width ? covered(centre, width, radius) : 0;
    set_gas(mesh, block, to_interior + cell, {ambient_density, ambient_pressure + share * hot_pressure, 0, 0, 0});
  });
}

Totals totals(const Mesh& mesh) {
  // Long double: a sum of millions of cells must not cost the digits that the check is about.
  std::vector<long double> sums(2 * static_cast<std::size_t>(mesh.levels()), 0.0L);   // of each level, for they differ in volume
  for_each_cell(mesh, [&](int block, std::ptrdiff_t cell, const std::array<double, 3>&) {
    const long double density = mesh.interior(block, dens)[cell];
    long double* of_level = sums.data() + 2 * (mesh.level(block) - 1);
    of_level[0] += density;
    of_level[1] += density * mesh.interior(block, ener)[cell];
  });
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_LONG_DOUBLE, MPI_SUM, mesh.comm());
  long double mass = 0, energy = 0;
  for (int level = 1; level <= mesh.levels(); ++level) {
    const long double volume = std::pow(static_cast<long double>(mesh.cell_width(level)), 3);
    mass += sums[2 * static_cast<std::size_t>(level - 1)] * volume;
    energy += sums[2 * static_cast<std::size_t>(level) - 1] * volume;
  }
  return {static_cast<double>(mass), static_cast<double>(energy)};
}

double shock_radius(const Mesh& mesh) {
  const double width = mesh.cell_width();
  const auto shells = static_cast<std::size_t>(mesh.domain_width() / width);
  std::vector<double> sums(3 * shells, 0.0);   // cells, density, radius
  const auto count = [&](double density, const std::array<double, 3>& centre) {
    const double radius = distance(centre);
    const auto shell = static_cast<std::size_t>(radius / width);
    if (shell >= shells) return;
    sums[3 * shell] += 1;
    sums[3 * shell + 1] += density;
    sums[3 * shell + 2] += radius;
  };
  for_each_cell(mesh, [&](int block, std::ptrdiff_t cell, const std::array<double, 3>& centre) {
    const double density = mesh.interior(block, dens)[cell];
    const int parts = 1 << (mesh.levels() - mesh.level(block));   // a coarse cell is as many fine ones, or shells would be without any
    if (parts == 1) return count(density, centre);
    const auto at = [&](double middle, int n) { return middle + (n + 0.5 - 0.5 * parts) * width; };
    for (int k = 0; k < parts; ++k) {
      for (int j = 0; j < parts; ++j) {
        for (int i = 0; i < parts; ++i) count(density, {at(centre[0], i), at(centre[1], j), at(centre[2], k)});
      }
    }
  });
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, mesh.comm());

  const auto density = [&](std::size_t shell) { return sums[3 * shell + 1] / sums[3 * shell]; };
  const auto radius = [&](std::size_t shell) { return sums[3 * shell + 2] / sums[3 * shell]; };
  std::size_t peak = 0;
  for (std::size_t shell = 0; shell < shells; ++shell) {
    if (density(shell) > density(peak)) peak = shell;
  }
  if (density(peak) < 1.5 * ambient_density) return 0;
  const double half = 0.5 * (density(peak) + ambient_density);
  for (std::size_t shell = peak; shell + 1 < shells; ++shell) {
    if (density(shell + 1) < half) {
      const double share = (density(shell) - half) / (density(shell) - density(shell + 1));
      return radius(shell) + share * (radius(shell + 1) - radius(shell));
    }
  }
  return radius(shells - 1);
}

bool Checks::conserved() const { return std::abs(mass_error) < 1e-12 && std::abs(energy_error) < 1e-12; }

bool Checks::shock_right() const { return std::abs(radius - exact_radius) < 0.03 * exact_radius; }

Checks check(const Mesh& mesh, const SedovTaylor& exact, const Totals& start, double time) {
  const Totals now = totals(mesh);
  const double expected = exact.shock_radius(blast_energy, ambient_density, time);
  return {.mass_error = now.mass / start.mass - 1,
          .energy_error = now.energy / start.energy - 1,
          .radius = shock_radius(mesh),
          .exact_radius = expected,
          .shock_checked = expected > 20 * mesh.cell_width() && expected < 0.95 * mesh.domain_width()};
}

}  // namespace sedov
