// SPDX-License-Identifier: BSD-3-Clause
//
// Copies the application's bytes, once, into the pool. The only way of capture so far; others (snapshots, buffers that
// live in the pool) would come beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace glean::capture {

// Elements of a box as they lie in the application's memory.
struct Source {
  const std::byte* first = nullptr;              // element at the box's start
  std::size_t element_bytes = 0;
  std::span<const std::uint64_t> count;          // of the box, slowest dimension first
  std::span<const std::ptrdiff_t> strides;       // in elements, same order; empty: contiguous
};

// Bytes that lie side by side. Large copies bypass the cache: the ranks' working set stays there, and the target is not read first.
// Local.
void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes);

// Copies elements [begin, begin + elements) of the box, in row-major order, to `target`, where they lie side by side.
// Local.
void copy_elements(const Source& source, std::uint64_t begin, std::uint64_t elements, std::byte* target);

// Copies elements of whatever it knows how to copy. Called with ascending `begin`.
using CopyOut = std::function<void(std::uint64_t begin, std::uint64_t elements, std::byte* target)>;

}  // namespace glean::capture
