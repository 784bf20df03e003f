// SPDX-License-Identifier: BSD-3-Clause
//
// What comparing a file with its checksums has found, for people.
#pragma once

#include <string>
#include <vector>

#include "store/sums/verify.hpp"

namespace glean::cli {

// Where a difference lies, as far as the sidecar knows: "record 2 of 'dens'", "from 'x' to 'y'"; may be empty.
[[nodiscard]] std::string place_of(const store::Difference& difference, const store::Sidecar& sidecar);

// One line for each thing that is wrong: the length, and what differs.
[[nodiscard]] std::vector<std::string> lines_of(const store::Verification& verification, const store::Sidecar& sidecar);

}  // namespace glean::cli
