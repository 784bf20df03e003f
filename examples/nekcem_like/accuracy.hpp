// SPDX-License-Identifier: BSD-3-Clause
//
// How exact a run has to be to count as spectral.
#pragma once

#include "mesh.hpp"
#include "waveguide.hpp"

namespace nekcem {

// What polynomials of degree N can do at best, in the elements of the box: the largest error of the best approximation of the mode.
// It falls faster than exponentially with N.
[[nodiscard]] double approximation_error(const Mesh::Box& box, const WaveguideMode& mode);

// The largest error that a run may have after `steps` of `dt`: a multiple of that of approximation, what Runge-Kutta steps of fourth
// order add, and rounding. A scheme of any fixed order in the size of the elements exceeds it.
[[nodiscard]] double allowed_error(const Mesh::Box& box, const WaveguideMode& mode, int steps, double dt);

}  // namespace nekcem
