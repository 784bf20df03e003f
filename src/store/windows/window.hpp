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
  bool is_as_in_file = false;           // an element's bytes in the payload are those in the file
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

// Whole blocks that can be written from where they lie.
struct InPlace {
  Extent extent;
  const std::byte* data = nullptr;
};

struct Assembled {
  std::vector<Extent> runs;    // written parts of the window, ascending, disjoint, merged; file offsets
  std::vector<InPlace> in_place;   // of them, ascending: these are not in the buffer
  std::uint64_t range_errors = 0;
  RangeError first_range_error;
};

// The payload of a piece that is not in the pool; valid until the next call.
using Load = std::function<const std::byte*(const TypedPiece&)>;

// What may stay where it lies: long stretches of pieces that are as in the file, in whole blocks whose address is equal to the file offset
// modulo a block.
struct MayStay {
  Bytes least_bytes = 0;   // of a stretch; 0: all goes into the buffer
  Bytes block_bytes = 1;
};

// Converts everything that lies in the window into `buffer`, whose first byte is the window's, but for what may stay. No part may overlap
// another unless the window says so. Local to a drain thread. Throws what `load` throws.
[[nodiscard]] Assembled assemble(const Window& window, std::byte* buffer, const Load& load = nullptr, const MayStay& may_stay = {});

}  // namespace glean::store
