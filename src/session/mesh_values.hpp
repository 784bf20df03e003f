// SPDX-License-Identifier: BSD-3-Clause
//
// Meshes of the public interface as values, with copies of what they point to.
#pragma once

#include "glean/glean.hpp"
#include "mesh/meshes.hpp"

namespace glean::session {

// What is in memory of the program is read here; the flaws of a mesh are found later. Throws invalid_argument where it cannot be read at
// all, as points of another type.
[[nodiscard]] mesh::Mesh mesh_of(const UniformGrid& grid);
[[nodiscard]] mesh::Mesh mesh_of(const RectilinearGrid& grid);
[[nodiscard]] mesh::Mesh mesh_of(const CurvilinearGrid& grid);
[[nodiscard]] mesh::Mesh mesh_of(const UnstructuredMesh& mesh);
[[nodiscard]] mesh::Mesh mesh_of(const AmrGrid& grid);

}  // namespace glean::session
