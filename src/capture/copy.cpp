// SPDX-License-Identifier: BSD-3-Clause
#include "capture/copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace glean::capture {
namespace {

// Below this a copy may well be read again from the cache; above it streaming stores save reading the target first.
constexpr std::size_t streaming_bytes = 4 * 1024;

#ifdef __x86_64__
// What the processor fetches ahead by itself ends with each page, and the first of the next one would be waited for.
constexpr std::size_t ahead_bytes = 8 * 1024;

// The target is aligned to 32 bytes.
__attribute__((target("avx2"))) inline void stream_128(std::byte* target, const std::byte* source) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 32));
  const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 64));
  const __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 96));
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target), a);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target + 32), b);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target + 64), c);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target + 96), d);
}

__attribute__((target("avx2"))) void copy_streaming(std::byte* target, const std::byte* source, std::size_t bytes) {
  const std::size_t head = (32 - reinterpret_cast<std::uintptr_t>(target) % 32) % 32;
  std::memcpy(target, source, head);
  target += head, source += head, bytes -= head;
  for (; bytes >= ahead_bytes + 128; bytes -= 128, target += 128, source += 128) {
    _mm_prefetch(reinterpret_cast<const char*>(source + ahead_bytes), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(source + ahead_bytes + 64), _MM_HINT_T0);
    stream_128(target, source);
  }
  for (; bytes >= 128; bytes -= 128, target += 128, source += 128) stream_128(target, source);
  _mm_sfence();
  std::memcpy(target, source, bytes);
}
#endif

template <class Element>
void gather(std::byte* target, const std::byte* source, std::ptrdiff_t stride, std::uint64_t elements) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::memcpy(target + i * sizeof(Element), source + static_cast<std::ptrdiff_t>(i * sizeof(Element)) * stride,
                sizeof(Element));
  }
}

void copy_row(std::byte* target, const std::byte* source, std::ptrdiff_t stride, std::uint64_t elements,
              std::size_t element_bytes) {
  if (stride == 1 || elements == 1) return copy_bytes(target, source, elements * element_bytes);
  switch (element_bytes) {
    case 1: return gather<std::uint8_t>(target, source, stride, elements);
    case 2: return gather<std::uint16_t>(target, source, stride, elements);
    case 4: return gather<std::uint32_t>(target, source, stride, elements);
    default: return gather<std::uint64_t>(target, source, stride, elements);
  }
}

}  // namespace

void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes) {
#ifdef __x86_64__
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2 && bytes >= streaming_bytes) return copy_streaming(target, source, bytes);
#endif
  std::memcpy(target, source, bytes);
}

void copy_elements(const Source& source, std::uint64_t begin, std::uint64_t elements, std::byte* target) {
  if (elements == 0) return;
  const std::size_t size = source.element_bytes;
  if (source.strides.empty()) return copy_bytes(target, source.first + begin * size, elements * size);

  // Inner dimensions that follow each other in memory are one row.
  std::size_t outer = source.count.size();   // dimensions [0, outer) are outside a row
  std::uint64_t row = 1;
  std::ptrdiff_t stride = 1;
  for (; outer > 0; --outer) {
    const std::size_t d = outer - 1;
    if (source.count[d] == 1) continue;
    if (row == 1) stride = source.strides[d];
    else if (source.strides[d] != stride * static_cast<std::ptrdiff_t>(row)) break;
    row *= source.count[d];
  }
  // Rows come one after the other along this dimension: there is no need to work each one out.
  const std::uint64_t rows = outer == 0 ? 1 : source.count[outer - 1];
  const std::ptrdiff_t next_row = outer == 0 ? 0 : source.strides[outer - 1] * static_cast<std::ptrdiff_t>(size);

  while (elements > 0) {
    std::uint64_t inside = begin % row;
    const std::uint64_t first = begin / row % rows;
    std::uint64_t rest = begin / row / rows;
    std::ptrdiff_t offset = 0;
    for (std::size_t d = outer; d-- > 1;) {
      offset += static_cast<std::ptrdiff_t>(rest % source.count[d - 1]) * source.strides[d - 1];
      rest /= source.count[d - 1];
    }
    const std::byte* from = source.first + offset * static_cast<std::ptrdiff_t>(size) +
                            static_cast<std::ptrdiff_t>(first) * next_row;
    for (std::uint64_t r = first; r < rows && elements > 0; ++r, from += next_row, inside = 0) {
      const std::uint64_t now = std::min(elements, row - inside);
      copy_row(target, from + static_cast<std::ptrdiff_t>(inside * size) * stride, stride, now, size);
      target += now * size;
      begin += now;
      elements -= now;
    }
  }
}

}  // namespace glean::capture
