// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of PHASTA's files: lines of text, each with a key and numbers, and blocks of binary values after some of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "part.hpp"
#include "vortex.hpp"

namespace phasta {

// The geometry of a part: points and tetrahedra.
[[nodiscard]] std::string geometry_bytes(const Part& part);
// Its solution: pressure, velocity and temperature at its points.
[[nodiscard]] std::string restart_bytes(std::span<const State> solution, int step);

// The file by which ParaView finds the parts of one output. Its reader keeps the mesh of the first time step that it has read, so that
// every output of a mesh that changes needs a meta file of its own.
[[nodiscard]] std::string meta_text(int parts, int step, double time);

// Parts are numbered from 1.
[[nodiscard]] std::string geometry_name(int step, int part);
[[nodiscard]] std::string restart_name(int step, int part);
[[nodiscard]] std::string meta_name(int step);

}  // namespace phasta
