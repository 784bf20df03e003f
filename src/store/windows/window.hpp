// SPDX-License-Identifier: BSD-3-Clause
//
// A file domain of one request's size, and what is put together in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/sums/checksum.hpp"
#include "store/windows/piece.hpp"

namespace glean::store {

// A piece and its elements, as they lie in memory.
struct TypedPiece {
  Piece piece;
  const VariableLayout* variable = nullptr;
  Converter convert = nullptr;
  const std::byte* payload = nullptr;   // nullptr: it has to be loaded
  std::size_t memory_bytes = 1;         // of an element in the payload
};

// What goes into [index * request, (index + 1) * request) of the file.
struct Window {
  Extent extent;
  struct Part {
    TypedPiece* typed;
    Bytes bytes;   // of it in this window
  };
  std::vector<Part> parts;
  struct FillPart {
    const VariableLayout* variable;
    Extent extent;   // whole elements, not clipped to the window
    std::uint64_t step;
  };
  std::vector<FillPart> fills;
  Bytes bytes = 0;   // of all parts and fills
  bool may_overlap = false;   // parts may; what comes later wins
  std::vector<StridedSum> sums = {};   // of what was assembled, if the output wants them
};

// A value that the external type could not hold.
struct RangeError {
  const TypedPiece* typed = nullptr;
  std::uint64_t element = 0;   // in the piece's payload
  std::array<std::byte, 8> value{};   // as in the payload
};

struct Assembled {
  std::vector<Extent> runs;    // written parts of the window, ascending, disjoint, merged; file offsets
  std::uint64_t range_errors = 0;
  RangeError first_range_error;
};

// The payload of a piece that is not in the pool; valid until the next call.
using Load = std::function<const std::byte*(const TypedPiece&)>;

// Converts everything that lies in the window into `buffer`, whose first byte is the window's. No part may overlap
// another unless the window says so. Local to a drain thread. Throws what `load` throws.
[[nodiscard]] Assembled assemble(const Window& window, std::byte* buffer, const Load& load = nullptr);

}  // namespace glean::store
