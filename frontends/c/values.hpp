// SPDX-License-Identifier: BSD-3-Clause
//
// Values of the C interface as those of the C++ interface. All throw invalid_argument. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "glean/glean.h"
#include "glean/glean.hpp"

namespace glean::c {

// Of a call that has failed. What C++ has no code for, such as GLEAN_NO_MEMORY, is `io` there.
[[nodiscard]] Errc errc_of(glean_status status);
[[nodiscard]] Type type_of(glean_type type);
[[nodiscard]] Level level_of(glean_level level);
[[nodiscard]] Format format_of(glean_format format);
[[nodiscard]] OutputOptions options_of(const glean_output_options* options);
[[nodiscard]] InputOptions options_of(const glean_input_options* options);
[[nodiscard]] VariableOptions options_of(const glean_variable_options* options);
// `starts` and `counts`: [blocks][dimensions].
[[nodiscard]] std::vector<Box> boxes_of(const std::uint64_t* starts, const std::uint64_t* counts,
                                        std::size_t blocks, std::size_t dimensions);
[[nodiscard]] UniformGrid grid_of(const glean_uniform_grid* description);
[[nodiscard]] RectilinearGrid grid_of(const glean_rectilinear_grid* description);
// These two point to what the caller has.
[[nodiscard]] CurvilinearGrid grid_of(const glean_curvilinear_grid* description);
[[nodiscard]] UnstructuredMesh grid_of(const glean_unstructured_mesh* description);
[[nodiscard]] AmrGrid grid_of(const glean_amr_grid* description);

}  // namespace glean::c
