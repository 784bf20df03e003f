// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a file is still what its sidecar says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/layout.hpp"
#include "store/posix/system_calls.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::store {

struct Difference {
  enum class Kind { changed, not_zero };   // not_zero: something stands where nothing was written
  Kind kind = Kind::changed;
  Extent extent;            // file offsets: first and last byte of what one sum covers; of a hole, the bytes themselves
  StridedSum sum;           // `changed`: the one that differs
};

struct Verification {
  Bytes expected_bytes = 0;
  Bytes found_bytes = 0;    // length of the file
  Bytes summed_bytes = 0;   // that a sum covers
  Bytes read_back_bytes = 0;
  std::vector<Difference> differences;   // ascending by where they end
  [[nodiscard]] bool good() const { return expected_bytes == found_bytes && differences.empty(); }
};

// Reads all of the file, once and in order, holes excepted. Of one that was cut, sums that reach behind its end differ.
// Throws when it cannot be read. Blocks.
[[nodiscard]] Verification verify(SystemCalls& calls, const std::string& path, const Sidecar& sidecar);

// What lies at a file offset: "header", "'dens'", "record 3 of 'time'"; empty: between variables, or not known.
[[nodiscard]] std::string place_in(const FileLayout& layout, Bytes offset);

}  // namespace glean::store
