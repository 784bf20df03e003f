// SPDX-License-Identifier: BSD-3-Clause
#include "flux_correction.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "resample.hpp"

namespace sedov {

namespace {

constexpr int first_tag = 3;   // after those of the ghost cells
constexpr std::size_t quadrant_cells = FluxCorrection::plane_cells / 4;
constexpr std::size_t quadrant_values = FluxCorrection::plane_values / 4;

void read_means_of(const double* plane, double* values) {
  for (std::size_t variable = 0; variable < state_variables.size(); ++variable) {
    const double* fluxes = plane + variable * FluxCorrection::plane_cells;
    for (int slow = 0; slow < half_cells; ++slow) {
      for (int fast = 0; fast < half_cells; ++fast) {
        const double* four = fluxes + 2 * fast + 2 * slow * block_cells;
        *values++ = 0.25 * (four[0] + four[1] + four[block_cells] + four[block_cells + 1]);
      }
    }
  }
}

}  // namespace

void FluxCorrection::plan(int axis, int& slots) {
  Axis& along = axes_.emplace_back(first_tag + axis);
  std::vector<int> found(2 * static_cast<std::size_t>(mesh_.block_count()), -1);
  slots = 0;
  for (int local = 0; local < mesh_.block_count(); ++local) {
    if (!mesh_.is_leaf(local)) continue;
    const int block = mesh_.first_block() + local, self = mesh_.owner(block);
    for (const Side side : {Side::lower, Side::upper}) {
      const Beside beside = mesh_.tree().beside(block, axis, side);
      const auto where = [](Side of_coarser, int quadrant) { return static_cast<int>(of_coarser) + 2 * quadrant; };
      if (beside.kind == Beside::Kind::finer) {
        for (int quadrant = 0; quadrant < 4; ++quadrant) {
          const int fine = beside.blocks[static_cast<std::size_t>(quadrant)];
          along.messages.add({fine, block, where(side, quadrant), quadrant_values}, mesh_.owner(fine), self, self);
        }
      } else if (beside.kind == Beside::Kind::coarser) {
        const int coarse = beside.blocks[0], owner = mesh_.owner(coarse);
        if (owner != self) {
          along.messages.add({block, coarse, where(opposite(side), beside.quadrant), quadrant_values}, self, owner, self);
        }
      } else {
        continue;
      }
      found[slot_of(local, side)] = slots++;
    }
  }
  along.messages.complete();
  if (slots > 0) along.slots = std::move(found);
}

void FluxCorrection::begin() {
  if (planned_generation_ == mesh_.generation()) return;
  axes_.clear();
  int most = 0;
  for (int each = 0; each < 3; ++each) {
    int slots = 0;
    plan(each, slots);
    most = std::max(most, slots);
  }
  planes_.assign(static_cast<std::size_t>(most) * plane_values, 0.0);
  planned_generation_ = mesh_.generation();
}

void FluxCorrection::correct(int axis, const Part& part, double dt, const double* fluxes) {
  const auto along = static_cast<std::size_t>(axis);
  const auto [fast_axis, slow_axis] = axes_across[along];
  const auto side = static_cast<Side>(part.where % 2);
  const int quadrant = part.where / 2, block = part.destination - mesh_.first_block();
  const int first_fast = half_cells * (quadrant & 1), first_slow = half_cells * (quadrant >> 1);
  const double* own = plane(axis, block, side) + first_fast + first_slow * block_cells;
  // What flows upwards enters through the lower face and leaves through the upper one.
  const double ratio = (side == Side::lower ? dt : -dt) / mesh_.cell_width(mesh_.level(block));
  const std::ptrdiff_t layer = side == Side::lower ? 0 : (block_cells - 1) * cell_stride[along];
  for (int slow = 0; slow < half_cells; ++slow) {
    for (int fast = 0; fast < half_cells; ++fast) {
      const std::ptrdiff_t cell =
          to_interior + layer + (first_fast + fast) * cell_stride[fast_axis] + (first_slow + slow) * cell_stride[slow_axis];
      Conserved sums = conserved_of(gas_of(mesh_, block, cell));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double finer = fluxes[i * quadrant_cells + static_cast<std::size_t>(fast + slow * half_cells)];
        sums[i] += ratio * (finer - own[i * plane_cells + static_cast<std::size_t>(fast + slow * block_cells)]);
      }
      const Primitive gas = primitive_of(sums);
      if (!(gas[0] > 0 && gas[1] > 0)) {
        throw std::runtime_error("density or pressure is no longer positive beside the finer block " + std::to_string(part.source));
      }
      set_gas(mesh_, block, cell, gas);
    }
  }
}

void FluxCorrection::apply(int axis, double dt) {
  const auto pack = [&](const Part& part, double* values) {
    const Side side = opposite(static_cast<Side>(part.where % 2));
    read_means_of(plane(axis, part.source - mesh_.first_block(), side), values);
  };
  const auto unpack = [&](const Part& part, const double* fluxes) { correct(axis, part, dt, fluxes); };
  axes_[static_cast<std::size_t>(axis)].messages.exchange(mesh_.comm(), pack, unpack);
}

}  // namespace sedov
