// SPDX-License-Identifier: BSD-3-Clause
//
// Pools as killed jobs leave them, small and made by the code that makes real ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pool/pool.hpp"
#include "store/description.hpp"

namespace glean::fuzz {

using base::Bytes;

struct Scene {
  enum class Kind {
    closed,        // all is captured, nothing is written
    unfinished,    // one rank was a step ahead
    half_drained,  // the same, and a drain has written what it could
    two_outputs,   // one of them was just being opened; the other has checksums
  };
  static constexpr int kinds = 4;
  static const Scene& of(Kind kind);

  struct Output {
    store::OutputDescription description;
    pool::OutputKey key;
    Bytes layout_offset = 0;   // of the DescriptionPart that holds the layout; 0: there is none
  };
  std::vector<std::byte> image;                // all of the shared memory
  std::vector<Output> outputs;
  std::vector<std::vector<Bytes>> records;     // offsets of the put records of each rank's journal
  std::vector<Bytes> journals, rings;          // offsets, by rank
  Bytes file_bytes = 0;                        // of what a drain has written
  Bytes ring_bytes = 0;
  Bytes chunk_bytes = 0;

  [[nodiscard]] std::vector<store::OutputDescription> descriptions() const;
};

}  // namespace glean::fuzz
