// SPDX-License-Identifier: BSD-3-Clause
//
// What the takeover log says of puts whose payload is in the file, when it cannot stay in a journal that is too small: short,
// because puts that lie side by side become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/box.hpp"
#include "pool/pool.hpp"

namespace glean::drain {

// Elements [first, first + elements) of a box, as of a record.
struct LoggedPut {
  std::uint32_t variable = 0;
  int job_rank = 0;   // the rank that has put it
  std::uint64_t step = 0;
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
  mesh::Box box;
  friend bool operator==(const LoggedPut&, const LoggedPut&) = default;
};

// The put that a record in that journal of the pool is of.
[[nodiscard]] LoggedPut logged_put(const pool::Pool& pool, const pool::Record& record, int journal);

// As few as say the same: puts of one rank into one step of a variable, which must not overlap, are joined to larger boxes,
// and parts of a put to larger parts. Cost: O(d n log n) for n puts of d dimensions.
[[nodiscard]] std::vector<LoggedPut> join(std::vector<LoggedPut> puts);

// With a checksum. decode() throws io when the bytes are not what encode() has made.
[[nodiscard]] std::vector<std::byte> encode(std::span<const LoggedPut> puts);
[[nodiscard]] std::vector<LoggedPut> decode_logged_puts(std::span<const std::byte> bytes);

}  // namespace glean::drain
