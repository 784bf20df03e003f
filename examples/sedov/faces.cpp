// SPDX-License-Identifier: BSD-3-Clause
#include "faces.hpp"

#include "resample.hpp"

namespace sedov {

namespace {

struct Strides {
  std::ptrdiff_t along, fast, slow;
};

Strides strides_of(int axis) {
  const auto [fast, slow] = axes_across[static_cast<std::size_t>(axis)];
  return {cell_stride[static_cast<std::size_t>(axis)], cell_stride[fast], cell_stride[slow]};
}

// Of the first cell that is not beyond a face, in the layers of ghost cells and all.
std::ptrdiff_t corner(const Strides& stride) { return ghost_cells * (stride.fast + stride.slow); }

// The first layer of ghost cells.
int first_layer(Side side) { return side == Side::lower ? 0 : ghost_cells + block_cells; }

constexpr int bordered = half_cells + 2;

}  // namespace

void read_layers(const Mesh& mesh, int axis, Side side, int block, Layers layers, double* values) {
  const Strides stride = strides_of(axis);
  const bool lower = side == Side::lower, mirror = layers == Layers::mirrored;
  // Ghost cells below a block are the last cells of the block below it, or its own first cells in reverse.
  const int first = mirror ? (lower ? ghost_cells + 1 : ghost_cells + block_cells - 1) : (lower ? block_cells : ghost_cells);
  const int step = mirror ? -1 : 1;
  for (const Variable variable : state_variables) {
    const double sign = mirror && variable == velx + axis ? -1.0 : 1.0;
    const double* cells = mesh.cells(block, variable) + corner(stride);
    for (int layer = 0; layer < ghost_cells; ++layer) {
      const double* start = cells + (first + step * layer) * stride.along;
      for (int slow = 0; slow < block_cells; ++slow) {
        const double* row = start + slow * stride.slow;
        for (int fast = 0; fast < block_cells; ++fast) *values++ = sign * row[fast * stride.fast];
      }
    }
  }
}

void write_layers(Mesh& mesh, int axis, Side side, int block, const double* values) {
  const Strides stride = strides_of(axis);
  for (const Variable variable : state_variables) {
    double* cells = mesh.cells(block, variable) + first_layer(side) * stride.along + corner(stride);
    for (int layer = 0; layer < ghost_cells; ++layer) {
      double* start = cells + layer * stride.along;
      for (int slow = 0; slow < block_cells; ++slow) {
        double* row = start + slow * stride.slow;
        for (int fast = 0; fast < block_cells; ++fast) row[fast * stride.fast] = *values++;
      }
    }
  }
}

void read_layers_of_means(const Mesh& mesh, int axis, Side side, int block, double* values) {
  constexpr std::size_t cells = means_values / state_variables.size();
  const Strides stride = strides_of(axis);
  const int first = ghost_cells + (side == Side::lower ? block_cells - 2 * ghost_cells : 0);
  std::size_t cell = 0;
  for (int layer = 0; layer < ghost_cells; ++layer) {
    for (int slow = 0; slow < half_cells; ++slow) {
      for (int fast = 0; fast < half_cells; ++fast, ++cell) {
        const std::ptrdiff_t offset =
            corner(stride) + (first + 2 * layer) * stride.along + 2 * fast * stride.fast + 2 * slow * stride.slow;
        const Primitive mean = mean_gas(mesh, block, offset);
        for (std::size_t i = 0; i < mean.size(); ++i) values[i * cells + cell] = mean[i];
      }
    }
  }
}

void write_quadrant(Mesh& mesh, int axis, Side side, int quadrant, int block, const double* values) {
  const Strides stride = strides_of(axis);
  const std::ptrdiff_t to_quadrant = half_cells * ((quadrant & 1) * stride.fast + (quadrant >> 1) * stride.slow);
  for (const Variable variable : state_variables) {
    double* cells = mesh.cells(block, variable) + first_layer(side) * stride.along + corner(stride) + to_quadrant;
    for (int layer = 0; layer < ghost_cells; ++layer) {
      for (int slow = 0; slow < half_cells; ++slow) {
        double* row = cells + layer * stride.along + slow * stride.slow;
        for (int fast = 0; fast < half_cells; ++fast) row[fast * stride.fast] = *values++;
      }
    }
  }
}

void read_coarse(const Mesh& mesh, int axis, Side side, int quadrant, int block, double* values) {
  const Strides stride = strides_of(axis);
  const int near = ghost_cells + (side == Side::lower ? block_cells - 1 : 0);
  const int far = near + (side == Side::lower ? -1 : 1);
  const std::ptrdiff_t to_quadrant = half_cells * ((quadrant & 1) * stride.fast + (quadrant >> 1) * stride.slow);
  for (const Variable variable : state_variables) {
    const double* cells = mesh.cells(block, variable) + corner(stride) + to_quadrant;
    for (int slow = -1; slow <= half_cells; ++slow) {
      const double* row = cells + near * stride.along + slow * stride.slow;
      for (int fast = -1; fast <= half_cells; ++fast) *values++ = row[fast * stride.fast];
    }
    for (int slow = 0; slow < half_cells; ++slow) {
      const double* row = cells + far * stride.along + slow * stride.slow;
      for (int fast = 0; fast < half_cells; ++fast) *values++ = row[fast * stride.fast];
    }
  }
}

void write_interpolated(Mesh& mesh, int axis, Side side, int block, const double* values) {
  const Strides stride = strides_of(axis);
  const bool lower = side == Side::lower;
  // The layers of ghost cells, and the first layer of the block's own.
  const int near_layer = lower ? ghost_cells - 1 : ghost_cells + block_cells;
  const int far_layer = lower ? near_layer - 1 : near_layer + 1;
  const int own_layer = lower ? near_layer + 1 : near_layer - 2;   // and the one above it
  for (const Variable variable : state_variables) {
    double* cells = mesh.cells(block, variable) + corner(stride);
    const double* near = values + bordered + 1;
    const double* far = values + bordered * bordered;
    values = far + half_cells * half_cells;
    for (int slow = 0; slow < half_cells; ++slow) {
      for (int fast = 0; fast < half_cells; ++fast) {
        const double* here = near + fast + slow * bordered;
        double* corner_cell = cells + 2 * (fast * stride.fast + slow * stride.slow);
        double inside = 0;
        for (int part = 0; part < 8; ++part) {
          const Position at = octant(part);
          inside += 0.125 * corner_cell[(own_layer + at[2]) * stride.along + at[0] * stride.fast + at[1] * stride.slow];
        }
        const double inwards = 0.25 * minmod(*here - far[fast + slow * half_cells], inside - *here);
        const double along_fast = 0.25 * minmod(here[0] - here[-1], here[1] - here[0]);
        const double along_slow = 0.25 * minmod(here[0] - here[-bordered], here[bordered] - here[0]);
        for (int part = 0; part < 4; ++part) {
          const int i = part & 1, j = part >> 1;
          const double value = *here + (2 * i - 1) * along_fast + (2 * j - 1) * along_slow;
          double* cell = corner_cell + i * stride.fast + j * stride.slow;
          cell[near_layer * stride.along] = value + inwards;
          cell[far_layer * stride.along] = value - inwards;
        }
      }
    }
  }
}

}  // namespace sedov
