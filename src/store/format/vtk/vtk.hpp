// SPDX-License-Identifier: BSD-3-Clause
//
// VTK's legacy files, version 3.0, binary: lines of text with big-endian arrays between them. docs/formats/vtk.md.
//
// A file is one grid, GridDefinition::coordinates of which are its arrays, and the variables that are defined on it or on nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/format/format.hpp"

namespace glean::store {

inline constexpr char vtk_name[] = "vtk";

[[nodiscard]] std::unique_ptr<const Format> make_vtk_format();

// A name as it stands in a file: bytes that would end it as %XX. Local.
[[nodiscard]] std::string vtk_encoded(std::string_view name);

}  // namespace glean::store
