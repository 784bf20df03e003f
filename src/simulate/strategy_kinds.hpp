// SPDX-License-Identifier: BSD-3-Clause
//
// The strategies one by one, for strategies().
#pragma once

#include "simulate/strategy.hpp"

namespace glean::simulate {

// independent.cpp
[[nodiscard]] const Strategy& shared_file();        // "posix"
[[nodiscard]] const Strategy& file_per_process();
[[nodiscard]] const Strategy& container();
// collective.cpp
[[nodiscard]] const Strategy& collective();
[[nodiscard]] const Strategy& grouped_collective(); // "coio"
[[nodiscard]] const Strategy& planned_collective();
[[nodiscard]] const Strategy& one_sided_collective();
// reassigned.cpp
[[nodiscard]] const Strategy& reassigned();
[[nodiscard]] const Strategy& reassigned_and_coalesced();
// dedicated.cpp
[[nodiscard]] const Strategy& dedicated_writers();  // "rbio"
[[nodiscard]] const Strategy& threaded_writers();   // "threaded-rbio"
// background.cpp
[[nodiscard]] const Strategy& background();         // "glean"
[[nodiscard]] const Strategy& staged();
[[nodiscard]] const Strategy& staged_by_group();
[[nodiscard]] const Strategy& staged_synchronously();

}  // namespace glean::simulate
