// SPDX-License-Identifier: BSD-3-Clause
//
// Advances the gas: the compressible Euler equations by directionally split sweeps, second order in space and
// time (MUSCL-Hancock with van Leer's limiter, HLLC fluxes), as FLASH splits them.
#pragma once

#include "halo.hpp"
#include "mesh.hpp"

namespace sedov {

inline constexpr double gas_gamma = 1.4;
// erg/(mol K), as FLASH: `temp` is in K for a gas of 1 g/mol.
inline constexpr double gas_constant = 8.31446261815324e7;

class Hydro {
 public:
  // Keeps references to both.
  Hydro(Mesh& mesh, Halo& halo) : mesh_(mesh), halo_(halo) {}

  // The longest stable step at Courant number `courant`, from the state that the mesh is in. Collective,
  // blocks.
  [[nodiscard]] double stable_step(double courant) const;

  // Three sweeps, x y z and z y x in turn, so that a pair of steps is symmetric; then the variables that
  // follow from density, pressure and velocity. Collective, blocks. Throws std::runtime_error naming the
  // block if a cell has no positive pressure or density any more.
  void advance(double dt);

  // Sets eint, ener, temp, gamc and game from dens, pres and the velocity. Local.
  void complete_state();

 private:
  void sweep(int axis, double dt);

  Mesh& mesh_;
  Halo& halo_;
  bool forward_ = true;
};

}  // namespace sedov
