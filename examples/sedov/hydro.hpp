// SPDX-License-Identifier: BSD-3-Clause
//
// Advances the gas: the compressible Euler equations by directionally split sweeps, second order in space and
// time (MUSCL-Hancock with van Leer's limiter, HLLC fluxes), as FLASH splits them.
#pragma once

#include "flux_correction.hpp"
#include "gas.hpp"
#include "halo.hpp"
#include "mesh.hpp"

namespace sedov {

class Hydro {
 public:
  // Keeps references to both.
  Hydro(Mesh& mesh, Halo& halo) : mesh_(mesh), halo_(halo), correction_(mesh) {}

  // The longest step that is stable in all blocks, which have the same one, at Courant number `courant`, from the state that the
  // mesh is in. Collective, blocks.
  [[nodiscard]] double stable_step(double courant) const;

  // Three sweeps, x y z and z y x in turn, so that a pair of steps is symmetric; then the variables that
  // follow from density, pressure and velocity, of blocks without children. Collective, blocks. Throws std::runtime_error naming
  // the block if a cell has no positive pressure or density any more.
  void advance(double dt);

  // Sets eint, ener, temp, gamc and game from dens, pres and the velocity, of parents too. These must have got what their
  // children have (restrict_to_parents) in a mesh with parents. Local.
  void complete_state();

 private:
  void sweep(int axis, double dt);
  void complete_block(int block);

  Mesh& mesh_;
  Halo& halo_;
  FluxCorrection correction_;
  bool forward_ = true;
};

}  // namespace sedov
