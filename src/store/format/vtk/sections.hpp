// SPDX-License-Identifier: BSD-3-Clause
//
// What a legacy VTK file says in text, and in which order its arrays follow.
#pragma once

#include <string>
#include <vector>

#include "mesh/definitions.hpp"

namespace glean::store {

// Text, and the array that begins right behind it; -1: none, at the end of the file. The last line of the text is that of the array.
struct VtkSection {
  std::string text;
  int variable = -1;
};

// Throws invalid_argument with all that such a file cannot hold.
[[nodiscard]] std::vector<VtkSection> vtk_sections(const mesh::Definitions& definitions);

}  // namespace glean::store
