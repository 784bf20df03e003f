// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a mesh of many parts is one, and how well it resolves the solution.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "part.hpp"
#include "vortex.hpp"

namespace phasta {

struct Conformity {
  std::int64_t cells = 0, points = 0;   // of all parts; points that parts share count in each
  int parts = 0;                        // that have cells
  std::int64_t wrong_faces = 0;         // inner faces that do not belong to exactly two cells
  double volume_error = 0;              // relative
  [[nodiscard]] bool conforms() const { return wrong_faces == 0 && volume_error < 1e-12; }
};

// Collective. Ranks send each other the faces that have their other cell elsewhere.
[[nodiscard]] Conformity check_mesh(MPI_Comm comm, const Part& part, const Forest& forest);

// The solution at the points of a part.
[[nodiscard]] std::vector<State> solution_at(const Part& part, const Vortex& vortex, double time);

// How far linear interpolation between the points is from the solution in the middle of the cells: the root of the mean square over the
// volume of the box, all variables together. Collective.
[[nodiscard]] double interpolation_error(MPI_Comm comm, const Part& part, const std::vector<State>& solution, const Vortex& vortex,
                                         double time);

}  // namespace phasta
