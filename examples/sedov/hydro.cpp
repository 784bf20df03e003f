// SPDX-License-Identifier: BSD-3-Clause
#include "hydro.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "riemann.hpp"

namespace sedov {

namespace {

// Sixteen rows of cells side by side, so that the innermost loop always runs over neighbours in memory.
constexpr int lanes = block_cells;
using Rows = double[padded_cells][lanes];

struct Bundle {
  Rows density, normal, first, second, pressure;
};

struct Fluxes {
  double mass[block_cells + 1][lanes], normal[block_cells + 1][lanes], first[block_cells + 1][lanes],
      second[block_cells + 1][lanes], energy[block_cells + 1][lanes];
};

struct Walk {   // strides: along the sweep, between lanes, between bundles
  std::ptrdiff_t along, lane, bundle;
  int normal, first, second;   // velocity variables
};

Walk walk(int axis) {
  if (axis == 0) return {cell_stride[0], cell_stride[1], cell_stride[2], velx, vely, velz};
  if (axis == 1) return {cell_stride[1], cell_stride[0], cell_stride[2], vely, velz, velx};
  return {cell_stride[2], cell_stride[0], cell_stride[1], velz, velx, vely};
}

void load(const double* cells, const Walk& walk, Rows& rows) {
  for (int i = 0; i < padded_cells; ++i) {
    for (int lane = 0; lane < lanes; ++lane) rows[i][lane] = cells[i * walk.along + lane * walk.lane];
  }
}

void store(const Rows& rows, const Walk& walk, double* cells) {
  for (int i = ghost_cells; i < ghost_cells + block_cells; ++i) {
    for (int lane = 0; lane < lanes; ++lane) cells[i * walk.along + lane * walk.lane] = rows[i][lane];
  }
}

double limited_slope(double below, double here, double above) {
  const double left = here - below, right = above - here;
  const double product = left * right;
  return product > 0 ? 2 * product / (left + right) : 0.0;
}

// From the middle of the cells at the old time to both of their faces half a step later. Where that would
// leave density or pressure without a positive value the cell is taken as constant.
void reconstruct(const Bundle& cell, double half_ratio, Bundle& lower, Bundle& upper) {
  for (int i = 1; i < padded_cells - 1; ++i) {
    for (int lane = 0; lane < lanes; ++lane) {
      const auto slope = [i, lane](const Rows& rows) {
        return limited_slope(rows[i - 1][lane], rows[i][lane], rows[i + 1][lane]);
      };
      const double density = cell.density[i][lane], pressure = cell.pressure[i][lane];
      const double normal = cell.normal[i][lane];
      const double d_density = slope(cell.density), d_pressure = slope(cell.pressure);
      const double d_normal = slope(cell.normal), d_first = slope(cell.first), d_second = slope(cell.second);

      const double t_density = -half_ratio * (normal * d_density + density * d_normal);
      const double t_normal = -half_ratio * (normal * d_normal + d_pressure / density);
      const double t_pressure = -half_ratio * (normal * d_pressure + gas_gamma * pressure * d_normal);
      const double least_density = density + t_density - 0.5 * std::abs(d_density);
      const double least_pressure = pressure + t_pressure - 0.5 * std::abs(d_pressure);
      const double keep = (least_density > 0.05 * density) & (least_pressure > 0.05 * pressure) ? 1.0 : 0.0;

      const auto split = [&](double value, double in_time, double in_space, double& below, double& above) {
        below = value + keep * (in_time - 0.5 * in_space);
        above = value + keep * (in_time + 0.5 * in_space);
      };
      split(density, t_density, d_density, lower.density[i][lane], upper.density[i][lane]);
      split(normal, t_normal, d_normal, lower.normal[i][lane], upper.normal[i][lane]);
      split(cell.first[i][lane], -half_ratio * normal * d_first, d_first, lower.first[i][lane],
            upper.first[i][lane]);
      split(cell.second[i][lane], -half_ratio * normal * d_second, d_second, lower.second[i][lane],
            upper.second[i][lane]);
      split(pressure, t_pressure, d_pressure, lower.pressure[i][lane], upper.pressure[i][lane]);
    }
  }
}

void solve_faces(const Bundle& lower, const Bundle& upper, Fluxes& fluxes) {
  for (int face = 0; face <= block_cells; ++face) {
    const int left = face + ghost_cells - 1, right = left + 1;
    for (int lane = 0; lane < lanes; ++lane) {
      const Flux flux =
          hllc({upper.density[left][lane], upper.normal[left][lane], upper.first[left][lane],
                upper.second[left][lane], upper.pressure[left][lane]},
               {lower.density[right][lane], lower.normal[right][lane], lower.first[right][lane],
                lower.second[right][lane], lower.pressure[right][lane]},
               gas_gamma);
      fluxes.mass[face][lane] = flux.mass;
      fluxes.normal[face][lane] = flux.normal;
      fluxes.first[face][lane] = flux.first;
      fluxes.second[face][lane] = flux.second;
      fluxes.energy[face][lane] = flux.energy;
    }
  }
}

// Leaves the fluxes through a face in a plane of FluxCorrection, whose lanes and bundles are those of the sweep.
void keep(const Fluxes& fluxes, int face, int axis, double* plane) {
  const auto put = [&](int conserved, const double* of_lanes) {
    std::copy_n(of_lanes, lanes, plane + static_cast<std::size_t>(conserved) * FluxCorrection::plane_cells);
  };
  put(0, fluxes.mass[face]);
  put(1, fluxes.energy[face]);
  put(2 + axis, fluxes.normal[face]);   // momentum, along the axes in the order of walk()
  put(2 + (axis + 1) % 3, fluxes.first[face]);
  put(2 + (axis + 2) % 3, fluxes.second[face]);
}

// Returns whether every density and pressure that resulted is positive.
bool update(const Fluxes& fluxes, double ratio, Bundle& cell) {
  double positive[lanes];   // a number per lane, so that it is kept in vector registers
  std::fill(positive, positive + lanes, 1.0);
  for (int f = 0; f < block_cells; ++f) {
    const int i = f + ghost_cells;
    for (int lane = 0; lane < lanes; ++lane) {
      const double density = cell.density[i][lane], normal = cell.normal[i][lane];
      const double first = cell.first[i][lane], second = cell.second[i][lane];
      const double energy = cell.pressure[i][lane] / (gas_gamma - 1) +
                            0.5 * density * (normal * normal + first * first + second * second);

      const double new_density = density - ratio * (fluxes.mass[f + 1][lane] - fluxes.mass[f][lane]);
      const double inverse = 1 / new_density;
      const double new_normal =
          inverse * (density * normal - ratio * (fluxes.normal[f + 1][lane] - fluxes.normal[f][lane]));
      const double new_first =
          inverse * (density * first - ratio * (fluxes.first[f + 1][lane] - fluxes.first[f][lane]));
      const double new_second =
          inverse * (density * second - ratio * (fluxes.second[f + 1][lane] - fluxes.second[f][lane]));
      const double new_energy = energy - ratio * (fluxes.energy[f + 1][lane] - fluxes.energy[f][lane]);
      const double squared_speed = new_normal * new_normal + new_first * new_first + new_second * new_second;
      const double new_pressure = (gas_gamma - 1) * (new_energy - 0.5 * new_density * squared_speed);
      cell.density[i][lane] = new_density;
      cell.normal[i][lane] = new_normal;
      cell.first[i][lane] = new_first;
      cell.second[i][lane] = new_second;
      cell.pressure[i][lane] = new_pressure;
      positive[lane] = (new_density > 0) & (new_pressure > 0) ? positive[lane] : 0.0;
    }
  }
  return std::find(positive, positive + lanes, 0.0) == positive + lanes;
}

}  // namespace

double Hydro::stable_step(double courant) const {
  std::array<double, Tree::most_levels> fastest_of_level{};
  for (int block = 0; block < mesh_.block_count(); ++block) {
    if (!mesh_.is_leaf(block)) continue;
    double fastest = 0;
    for (int z = 0; z < block_cells; ++z) {
      for (int y = 0; y < block_cells; ++y) {
        const std::ptrdiff_t row = z * cell_stride[2] + y * cell_stride[1];
        const double* density = mesh_.interior(block, dens) + row;
        const double* pressure = mesh_.interior(block, pres) + row;
        const double* u = mesh_.interior(block, velx) + row;
        const double* v = mesh_.interior(block, vely) + row;
        const double* w = mesh_.interior(block, velz) + row;
        for (int x = 0; x < block_cells; ++x) {
          const double sound = std::sqrt(gas_gamma * pressure[x] / density[x]);
          const double speed = std::max(std::abs(u[x]), std::max(std::abs(v[x]), std::abs(w[x])));
          fastest = std::max(fastest, speed + sound);
        }
      }
    }
    double& of_level = fastest_of_level[static_cast<std::size_t>(mesh_.level(block) - 1)];
    of_level = std::max(of_level, fastest);
  }
  MPI_Allreduce(MPI_IN_PLACE, fastest_of_level.data(), mesh_.levels(), MPI_DOUBLE, MPI_MAX, mesh_.comm());
  double longest = std::numeric_limits<double>::infinity();   // of a level without blocks
  for (int level = 1; level <= mesh_.levels(); ++level) {
    longest = std::min(longest, courant * mesh_.cell_width(level) / fastest_of_level[static_cast<std::size_t>(level - 1)]);
  }
  return longest;
}

void Hydro::sweep(int axis, double dt) {
  const Walk strides = walk(axis);
  static thread_local Bundle cell, lower, upper;   // 75 KB: more than a stack frame should hold
  static thread_local Fluxes fluxes;
  for (int block = 0; block < mesh_.block_count(); ++block) {
    if (!mesh_.is_leaf(block)) continue;
    const double ratio = dt / mesh_.cell_width(mesh_.level(block));
    double* lower_plane = correction_.plane(axis, block, Side::lower);
    double* upper_plane = correction_.plane(axis, block, Side::upper);
    bool positive = true;
    for (int bundle = 0; bundle < block_cells; ++bundle) {
      const std::ptrdiff_t first_cell = (bundle + ghost_cells) * strides.bundle + ghost_cells * strides.lane;
      const auto cells = [&](int variable) { return mesh_.cells(block, variable) + first_cell; };
      load(cells(dens), strides, cell.density);
      load(cells(strides.normal), strides, cell.normal);
      load(cells(strides.first), strides, cell.first);
      load(cells(strides.second), strides, cell.second);
      load(cells(pres), strides, cell.pressure);

      reconstruct(cell, 0.5 * ratio, lower, upper);
      solve_faces(lower, upper, fluxes);
      if (lower_plane != nullptr) keep(fluxes, 0, axis, lower_plane + bundle * lanes);
      if (upper_plane != nullptr) keep(fluxes, block_cells, axis, upper_plane + bundle * lanes);
      positive &= update(fluxes, ratio, cell);

      store(cell.density, strides, cells(dens));
      store(cell.normal, strides, cells(strides.normal));
      store(cell.first, strides, cells(strides.first));
      store(cell.second, strides, cells(strides.second));
      store(cell.pressure, strides, cells(pres));
    }
    if (!positive) {
      throw std::runtime_error("density or pressure is no longer positive in block " +
                               std::to_string(mesh_.first_block() + block));
    }
  }
}

void Hydro::advance(double dt) {
  for (int pass = 0; pass < 3; ++pass) {
    const int axis = forward_ ? pass : 2 - pass;
    halo_.exchange(axis);
    correction_.begin();
    sweep(axis, dt);
    correction_.apply(axis, dt);
  }
  forward_ = !forward_;
  for (int block = 0; block < mesh_.block_count(); ++block) {
    if (mesh_.is_leaf(block)) complete_block(block);
  }
}

void Hydro::complete_state() {
  for (int block = 0; block < mesh_.block_count(); ++block) complete_block(block);
}

void Hydro::complete_block(int block) {
  const double* density = mesh_.cells(block, dens);
  const double* pressure = mesh_.cells(block, pres);
  const double* u = mesh_.cells(block, velx);
  const double* v = mesh_.cells(block, vely);
  const double* w = mesh_.cells(block, velz);
  double* internal = mesh_.cells(block, eint);
  double* total = mesh_.cells(block, ener);
  double* temperature = mesh_.cells(block, temp);
  for (std::ptrdiff_t z = ghost_cells; z < ghost_cells + block_cells; ++z) {
    for (std::ptrdiff_t y = ghost_cells; y < ghost_cells + block_cells; ++y) {
      const std::ptrdiff_t row = z * cell_stride[2] + y * cell_stride[1];
      for (std::ptrdiff_t i = row + ghost_cells; i < row + ghost_cells + block_cells; ++i) {
        const double ratio = pressure[i] / density[i];
        internal[i] = ratio / (gas_gamma - 1);
        total[i] = internal[i] + 0.5 * (u[i] * u[i] + v[i] * v[i] + w[i] * w[i]);
        temperature[i] = ratio / gas_constant;
      }
    }
  }
  std::fill_n(mesh_.cells(block, gamc), variable_stride, gas_gamma);
  std::fill_n(mesh_.cells(block, game), variable_stride, gas_gamma);
}

}  // namespace sedov
