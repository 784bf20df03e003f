// SPDX-License-Identifier: BSD-3-Clause
//
// The problem: one unit of energy at the origin of a cold gas of density 1. The domain is the octant with
// positive coordinates; the planes through the origin are mirrors, so it holds an eighth of the energy and
// stands for the whole sphere at twice the resolution. And what the simulation of it is checked against.
#pragma once

#include "mesh.hpp"
#include "sedov_taylor.hpp"

namespace sedov {

inline constexpr double blast_energy = 1.0;          // of the whole sphere
inline constexpr double ambient_density = 1.0;
inline constexpr double ambient_pressure = 1e-5;
inline constexpr double deposit_radius_cells = 3.5;  // as FLASH: the energy starts in a sphere of this radius; finest cells

// Sets density, pressure and velocity in blocks without children. Collective.
void set_blast(Mesh& mesh);

struct Totals {
  double mass, energy;   // in the domain
};
// Collective.
[[nodiscard]] Totals totals(const Mesh& mesh);

// Where the mean density over spherical shells falls, outside of its peak, half way from that peak to the
// ambient density. Zero while there is no shock yet. Collective.
[[nodiscard]] double shock_radius(const Mesh& mesh);

// How far the run kept what the equations keep, and met the exact solution. Limits: 1e-12 and 3 %.
struct Checks {
  double mass_error, energy_error;   // relative to the start
  double radius, exact_radius;
  bool shock_checked;                // the shock has formed (20 cells from the centre) and is still inside
  [[nodiscard]] bool conserved() const;
  [[nodiscard]] bool shock_right() const;
  [[nodiscard]] bool passed() const { return conserved() && (!shock_checked || shock_right()); }
};
// Collective.
[[nodiscard]] Checks check(const Mesh& mesh, const SedovTaylor& exact, const Totals& start, double time);

}  // namespace sedov
