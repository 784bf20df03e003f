// SPDX-License-Identifier: BSD-3-Clause
//
// The buffer of an MPI call as a stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flat_type.hpp"

namespace glean::mpiio {

// `count` of a datatype at a buffer, in typemap order. Refers to the buffer, which may be MPI_BOTTOM with a datatype of
// absolute addresses; not to the datatype. Local.
class TypedMemory {
 public:
  TypedMemory(const void* buffer, std::uint64_t count, const FlatType& type);
  // What the map says, from the buffer on.
  TypedMemory(const void* buffer, ByteMap map);

  [[nodiscard]] Bytes bytes() const { return map_.bytes(); }
  [[nodiscard]] bool is_contiguous() const { return map_.is_contiguous(); }
  // The first byte of a contiguous one. Null without bytes.
  [[nodiscard]] const std::byte* data() const;

  // Bytes [first, first + target.size()) of the stream, which must be in it. Each call finds its first byte in
  // O(depth * log parts) of the datatype, so a stream can be copied in any pieces.
  void copy_out(Bytes first, std::span<std::byte> target) const;

 private:
  std::uintptr_t buffer_ = 0;
  ByteMap map_;
};

}  // namespace glean::mpiio
