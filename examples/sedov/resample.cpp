// SPDX-License-Identifier: BSD-3-Clause
#include "resample.hpp"

#include <algorithm>

namespace sedov {

namespace {

std::ptrdiff_t offset_of(int x, int y, int z) { return to_interior + x * cell_stride[0] + y * cell_stride[1] + z * cell_stride[2]; }

// The layers beyond a face get the layer inside of it.
void extend(double* cells, int axis) {
  const auto along = static_cast<std::size_t>(axis);
  const auto [fast, slow] = axes_across[along];
  const std::ptrdiff_t last = (block_cells - 1) * cell_stride[along];
  for (int j = 0; j < block_cells; ++j) {
    for (int i = 0; i < block_cells; ++i) {
      double* first = cells + to_interior + i * cell_stride[fast] + j * cell_stride[slow];
      for (int layer = 1; layer <= ghost_cells; ++layer) {
        first[-layer * cell_stride[along]] = *first;
        first[last + layer * cell_stride[along]] = first[last];
      }
    }
  }
}

}  // namespace

Primitive mean_gas(const Mesh& mesh, int block, std::ptrdiff_t offset) {
  Conserved sums{};
  for (int child = 0; child < 8; ++child) {
    const Position at = octant(child);
    const std::ptrdiff_t cell = offset + at[0] * cell_stride[0] + at[1] * cell_stride[1] + at[2] * cell_stride[2];
    const Conserved one = conserved_of(gas_of(mesh, block, cell));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += 0.125 * one[i];
  }
  return primitive_of(sums);
}

void read_block(const Mesh& mesh, int block, double* values) {
  for (const Variable variable : state_variables) {
    const double* cells = mesh.cells(block, variable);
    for (int z = 0; z < block_cells; ++z) {
      for (int y = 0; y < block_cells; ++y) values = std::copy_n(cells + offset_of(0, y, z), block_cells, values);
    }
  }
}

void write_block(Mesh& mesh, int block, const double* values) {
  for (const Variable variable : state_variables) {
    double* cells = mesh.cells(block, variable);
    for (int z = 0; z < block_cells; ++z) {
      for (int y = 0; y < block_cells; ++y) {
        std::copy_n(values, block_cells, cells + offset_of(0, y, z));
        values += block_cells;
      }
    }
    for (int axis = 0; axis < 3; ++axis) extend(cells, axis);
  }
}

void read_means(const Mesh& mesh, int block, double* values) {
  constexpr std::size_t cells = octant_values / state_variables.size();
  std::size_t cell = 0;
  for (int z = 0; z < half_cells; ++z) {
    for (int y = 0; y < half_cells; ++y) {
      for (int x = 0; x < half_cells; ++x, ++cell) {
        const Primitive mean = mean_gas(mesh, block, offset_of(2 * x, 2 * y, 2 * z));
        for (std::size_t i = 0; i < mean.size(); ++i) values[i * cells + cell] = mean[i];
      }
    }
  }
}

void write_octant(Mesh& mesh, int parent, int child, const double* values) {
  const Position at = octant(child);
  for (const Variable variable : state_variables) {
    double* cells = mesh.cells(parent, variable) + offset_of(half_cells * at[0], half_cells * at[1], half_cells * at[2]);
    for (int z = 0; z < half_cells; ++z) {
      for (int y = 0; y < half_cells; ++y) {
        std::copy_n(values, half_cells, cells + y * cell_stride[1] + z * cell_stride[2]);
        values += half_cells;
      }
    }
  }
}

void read_child(const Mesh& mesh, int parent, int child, double* values) {
  constexpr std::size_t cells = block_values / state_variables.size();
  const Position half = octant(child);
  const std::ptrdiff_t first = offset_of(half_cells * half[0], half_cells * half[1], half_cells * half[2]);
  for (int z = 0; z < half_cells; ++z) {
    for (int y = 0; y < half_cells; ++y) {
      for (int x = 0; x < half_cells; ++x) {
        const std::ptrdiff_t offset = first + x * cell_stride[0] + y * cell_stride[1] + z * cell_stride[2];
        const Conserved here = conserved_of(gas_of(mesh, parent, offset));
        std::array<Conserved, 3> slopes;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const Conserved below = conserved_of(gas_of(mesh, parent, offset - cell_stride[axis]));
          const Conserved above = conserved_of(gas_of(mesh, parent, offset + cell_stride[axis]));
          for (std::size_t i = 0; i < here.size(); ++i) slopes[axis][i] = minmod(here[i] - below[i], above[i] - here[i]);
        }

        std::array<Primitive, 8> made;
        for (int part = 0; part < 8; ++part) {
          const Position at = octant(part);
          Conserved sums = here;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += (at[axis] - 0.5) * 0.5 * slopes[axis][i];
          }
          made[static_cast<std::size_t>(part)] = primitive_of(sums);
        }
        const bool positive = std::all_of(made.begin(), made.end(), [](const Primitive& gas) { return gas[0] > 0 && gas[1] > 0; });
        if (!positive) made.fill(gas_of(mesh, parent, offset));
        for (int part = 0; part < 8; ++part) {
          const Position at = octant(part);
          const int cell = 2 * x + at[0] + block_cells * (2 * y + at[1] + block_cells * (2 * z + at[2]));
          for (std::size_t i = 0; i < state_variables.size(); ++i) {
            values[i * cells + static_cast<std::size_t>(cell)] = made[static_cast<std::size_t>(part)][i];
          }
        }
      }
    }
  }
}

}  // namespace sedov
