// SPDX-License-Identifier: BSD-3-Clause
//
// Checksums of parts of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"

namespace glean::store {

using base::Bytes;
using base::Extent;

// XXH3-64 of bytes that come in pieces.
class StreamingSum {
 public:
  StreamingSum();
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;
};

// One sum of `runs` runs of `length` bytes that begin `stride` apart, one after the other: what a row-major box leaves
// in a file, at the price of a single run.
struct StridedSum {
  Bytes begin = 0;
  Bytes length = 0;          // at least 1
  Bytes stride = 0;          // at least length; 0 if there is one run only
  std::uint32_t runs = 1;
  bool read_back = false;    // of bytes as they came back from the storage, not as they were handed to it
  std::uint64_t sum = 0;

  [[nodiscard]] Bytes run_begin(std::uint64_t run) const { return begin + run * stride; }
  [[nodiscard]] Bytes end() const { return run_begin(runs - 1) + length; }
  [[nodiscard]] Bytes bytes() const { return runs * length; }
  friend bool operator==(const StridedSum&, const StridedSum&) = default;
};

// Sums of `runs`, which ascend and are disjoint; neighbours of one length and distance share one. `buffer` holds the
// bytes of the file from `buffer_offset` on. Local, pure.
[[nodiscard]] std::vector<StridedSum> checksums_of(std::span<const Extent> runs, const std::byte* buffer,
                                                   Bytes buffer_offset, bool read_back = false);

}  // namespace glean::store
