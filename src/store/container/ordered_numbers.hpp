// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of four and eight bytes in either byte order, back to back. The metadata of a container are in the byte order of the machine
// that has written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "store/layout.hpp"

namespace glean::store {

// Of the numbers of four bytes, which all are signed.
inline constexpr std::uint64_t largest_int = std::numeric_limits<std::int32_t>::max();

class OrderedEncoder {
 public:
  explicit OrderedEncoder(ByteOrder order) : order_(order) {}
  void four(std::uint32_t value) { put(value, 4); }
  void eight(std::uint64_t value) { put(value, 8); }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void put(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
      const unsigned shift = 8 * (order_ == ByteOrder::little ? i : size - 1 - i);
      bytes_.push_back(static_cast<std::byte>(value >> shift));
    }
  }
  ByteOrder order_;
  std::vector<std::byte> bytes_;
};

// The caller asks for no more than has() says.
class OrderedDecoder {
 public:
  OrderedDecoder(std::span<const std::byte> bytes, ByteOrder order) : rest_(bytes), order_(order) {}
  [[nodiscard]] bool has(std::uint64_t bytes) const { return bytes <= rest_.size(); }
  [[nodiscard]] std::uint32_t four() { return static_cast<std::uint32_t>(take(4)); }
  [[nodiscard]] std::uint64_t eight() { return take(8); }
  [[nodiscard]] std::span<const std::byte> raw(std::size_t size) {
    const auto found = rest_.first(size);
    rest_ = rest_.subspan(size);
    return found;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::uint64_t take(unsigned size) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) {
      const unsigned shift = 8 * (order_ == ByteOrder::little ? i : size - 1 - i);
      value |= std::to_integer<std::uint64_t>(rest_[i]) << shift;
    }
    rest_ = rest_.subspan(size);
    return value;
  }
  std::span<const std::byte> rest_;
  ByteOrder order_;
};

}  // namespace glean::store
