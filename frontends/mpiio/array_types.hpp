// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of arrays as MPI describes them, of the integers that MPI_Type_get_contents returns. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "byte_map.hpp"

namespace glean::mpiio {

// The map of MPI_Type_create_subarray, by its dimensions, sizes, subsizes, starts, order. Elements lie `extent` bytes apart.
[[nodiscard]] ByteMap map_of_subarray(std::span<const int> integers, const ByteMap& element, std::int64_t extent);

// The map of MPI_Type_create_darray, by its processes, rank, dimensions, sizes, distributions, their arguments, process grid, order.
[[nodiscard]] ByteMap map_of_darray(std::span<const int> integers, const ByteMap& element, std::int64_t extent);

}  // namespace glean::mpiio
