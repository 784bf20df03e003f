// SPDX-License-Identifier: BSD-3-Clause
//
// Where blocks of two levels meet, what leaves the one must enter the other: after a sweep the coarser cells at such faces get the means
// of the finer blocks' fluxes in place of their own. So mass, energy and momentum are kept.
#pragma once

#include <array>
#include <vector>

#include "messages.hpp"
#include "mesh.hpp"

namespace sedov {

class FluxCorrection {
 public:
  static constexpr std::size_t plane_cells = std::size_t{block_cells} * block_cells;
  static constexpr std::size_t plane_values = state_variables.size() * plane_cells;

  // Keeps a reference.
  explicit FluxCorrection(Mesh& mesh) : mesh_(mesh) {}

  // Before a sweep: works out what meets what, if the mesh has changed. Local.
  void begin();
  // Where the fluxes through a face of one of this rank's blocks are to be left, [as Conserved][slow][fast] of `axes_across`; null where
  // the same level is on both sides. The pointer is good until the mesh changes.
  [[nodiscard]] double* plane(int axis, int local_block, Side side) {
    const Axis& along = axes_[static_cast<std::size_t>(axis)];
    if (along.slots.empty()) return nullptr;
    const int slot = along.slots[slot_of(local_block, side)];
    return slot < 0 ? nullptr : planes_.data() + static_cast<std::size_t>(slot) * plane_values;
  }
  // After the sweep, in which the planes were filled: mends the coarser cells. Collective, blocks. Throws std::runtime_error if that
  // leaves a cell without positive density or pressure.
  void apply(int axis, double dt);

 private:
  struct Axis {
    explicit Axis(int tag) : messages(tag) {}
    std::vector<int> slots;   // of each side of each block, -1: none; empty where there are none at all
    Messages messages;
  };

  static std::size_t slot_of(int local_block, Side side) {
    return 2 * static_cast<std::size_t>(local_block) + (side == Side::upper ? 1 : 0);
  }
  void plan(int axis, int& slots);
  void correct(int axis, const Part& part, double dt, const double* fluxes);

  Mesh& mesh_;
  int planned_generation_ = -1;
  std::vector<Axis> axes_;
  std::vector<double> planes_;   // as many as the axis with the most needs: one axis is swept at a time
};

}  // namespace sedov
