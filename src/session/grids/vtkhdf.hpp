// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of the VTKHDF convention.
#pragma once

#include "session/grids/file_builder.hpp"

namespace glean::session {

inline constexpr char vtkhdf_root[] = "VTKHDF/";

// "VTKHDF/CellData/", or that of points, in a group below the root ("" or "Level0/").
[[nodiscard]] std::string vtkhdf_group(const std::string& below, mesh::Centring centring);

// The groups of data, empty or not: some readers complain where one is missing.
void add_vtkhdf_groups(FileBuilder& file, const std::string& below);

// OverlappingAMR. The numbers of an AMR grid come after all others of a contribution.
void add_amr_levels(const mesh::AmrGrid& grid, Contribution& contribution);
// Adds what the file says of the grid, and the variables of the program. Throws what does not fit together between ranks.
void view_amr(const Program& program, const Totals& totals, FileView& view);

}  // namespace glean::session
