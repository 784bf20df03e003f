// SPDX-License-Identifier: BSD-3-Clause
#include "typed_memory.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

#include "capture/copy.hpp"

namespace glean::mpiio {
namespace {

// Blocks of a size that the compiler knows become loads and stores.
template <class Size>
void copy_row(std::uintptr_t memory, std::byte* stream, const Loop& row, Size block_bytes) {
  for (std::uint64_t i = 0; i < row.count; ++i, memory += static_cast<std::uintptr_t>(row.stride), stream += block_bytes) {
    if constexpr (std::is_same_v<Size, Bytes>) {
      capture::copy_bytes(stream, reinterpret_cast<const std::byte*>(memory), block_bytes);
    } else {
      std::memcpy(stream, reinterpret_cast<const void*>(memory), block_bytes);
    }
  }
}

template <std::size_t size>
using Constant = std::integral_constant<std::size_t, size>;

void copy_row(std::uintptr_t memory, std::byte* stream, const Loop& row, Bytes block_bytes) {
  switch (block_bytes) {
    case 1: return copy_row(memory, stream, row, Constant<1>{});
    case 2: return copy_row(memory, stream, row, Constant<2>{});
    case 4: return copy_row(memory, stream, row, Constant<4>{});
    case 8: return copy_row(memory, stream, row, Constant<8>{});
    case 16: return copy_row(memory, stream, row, Constant<16>{});
    case 24: return copy_row(memory, stream, row, Constant<24>{});
    case 32: return copy_row(memory, stream, row, Constant<32>{});
    default: return copy_row<Bytes>(memory, stream, row, block_bytes);
  }
}

std::byte* copy_loops(std::uintptr_t memory, std::byte* stream, const Loop& outer, std::span<const Loop> inner, Bytes block_bytes) {
  if (inner.empty()) {
    copy_row(memory, stream, outer, block_bytes);
    return stream + outer.count * block_bytes;
  }
  for (std::uint64_t i = 0; i < outer.count; ++i, memory += static_cast<std::uintptr_t>(outer.stride)) {
    stream = copy_loops(memory, stream, inner.front(), inner.subspan(1), block_bytes);
  }
  return stream;
}

}  // namespace

TypedMemory::TypedMemory(const void* buffer, std::uint64_t count, const FlatType& type)
    : buffer_(reinterpret_cast<std::uintptr_t>(buffer)), map_(type.map().repeated(count, type.extent())) {}

TypedMemory::TypedMemory(const void* buffer, ByteMap map) : buffer_(reinterpret_cast<std::uintptr_t>(buffer)), map_(std::move(map)) {}

const std::byte* TypedMemory::data() const {
  if (bytes() == 0) return nullptr;
  return reinterpret_cast<const std::byte*>(buffer_ + static_cast<std::uintptr_t>(map_.begin()));
}

void TypedMemory::copy_out(Bytes first, std::span<std::byte> target) const {
  map_.for_each(first, target.size(), [&](const StridedBlocks& blocks) {
    copy_loops(buffer_ + static_cast<std::uintptr_t>(blocks.offset), target.data() + (blocks.first_byte - first), blocks.outer,
               blocks.inner, blocks.block_bytes);
  });
}

}  // namespace glean::mpiio
