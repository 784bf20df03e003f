// SPDX-License-Identifier: BSD-3-Clause
#include "convert/copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "store/convert.hpp"

namespace glean::convert {
namespace {

static_assert(std::endian::native == std::endian::little, "what is native is written as it is");

constexpr Bytes slab_bytes = 8 * base::MiB;

// The processor's rounding, as a program does it: infinity stays what it is, and NetCDF's rule, which makes fill values of it, is not
// asked. Returns how many finite values became infinite.
std::uint64_t narrow(const std::byte* big, std::byte* little, std::size_t count) {
  std::uint64_t became_infinite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, big + i * sizeof bits, sizeof bits);
    const auto value = std::bit_cast<double>(__builtin_bswap64(bits));
    const auto single = static_cast<float>(value);
    became_infinite += static_cast<std::uint64_t>(std::isinf(single) & !std::isinf(value));
    std::memcpy(little + i * sizeof single, &single, sizeof single);
  }
  return became_infinite;
}

}  // namespace

Copier::Copier(const Source& source, store::File& target) : source_(source), target_(target), big_(slab_bytes), little_(slab_bytes) {}

void Copier::copy(const ElementCopy& elements) {
  const mesh::Type type = source_.variable(elements.variable).external;
  const Bytes size = mesh::size_of(type), target_size = mesh::size_of(elements.external);
  const std::uint64_t most = slab_bytes / size;
  const std::array<std::byte, 8> no_fill{};
  for (std::uint64_t done = 0; done < elements.count;) {
    const std::uint64_t count = std::min(most, elements.count - done);
    const base::Extent extent = source_.extent(elements.variable, elements.record, elements.first + done, count);
    if (!source_.is_hole(extent)) {
      const auto big = std::span(big_).first(count * size), little = std::span(little_).first(count * target_size);
      source_.read(extent, big);
      if (type != elements.external) {
        if (const auto lost = narrow(big.data(), little.data(), count)) copied_.became_infinite[elements.variable] += lost;
      } else {
        // What makes big-endian of native bytes makes native of big-endian ones.
        store::converter(type, type)(big.data(), little.data(), count, no_fill.data());
      }
      target_.write(little, elements.offset + done * target_size);
      copied_.read += big.size();
      copied_.written += little.size();
    }
    done += count;
  }
}

}  // namespace glean::convert
