// SPDX-License-Identifier: BSD-3-Clause
//
// Lets the mesh follow the gas: fine blocks where density or pressure bend, coarse ones where they do not.
#pragma once

#include "halo.hpp"
#include "mesh.hpp"

namespace sedov {

// FLASH's parameters refine_cutoff, derefine_cutoff and refine_filter. The second is 0.2 there; so low it would keep the hollow behind
// the shock fine, where the density of almost nothing bends by 0.2 to 0.5.
inline constexpr double refine_above = 0.8;
inline constexpr double coarsen_below = 0.5;
inline constexpr double ripple_filter = 0.01;

// Löhner's estimator (1987): the largest second difference of density or pressure in the block, in units of the first differences around
// it. From 0 where they are linear to 1 where they jump; ripples of less than `ripple_filter` of the value do not count. The sums are over
// the three axes, without the mixed derivatives of FLASH's, since ghost cells at edges are not filled. Those at faces must be. Local.
[[nodiscard]] double estimate_error(const Mesh& mesh, int local_block);

// Gives blocks with an error above `refine_above` children, up to the mesh's levels, takes away those which all are below
// `coarsen_below`, keeps the tree balanced, and shares the blocks out anew. Fills ghost cells. Returns whether anything has changed.
// Collective, blocks.
bool adapt(Mesh& mesh, Halo& halo);

// Parents get the means of their children, from the finest level on. Collective, blocks.
void restrict_to_parents(Mesh& mesh);

// The mesh with the blocks of `tree`, which comes from the mesh's own by Tree::changed: blocks go to the ranks that have them now, new
// children get what their parent has. Ghost cells at faces must be filled, and parents have what their children have. Collective, blocks.
void redistribute(Mesh& mesh, const Tree& tree);

}  // namespace sedov
