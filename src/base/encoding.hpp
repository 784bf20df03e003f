// SPDX-License-Identifier: BSD-3-Clause
//
// Values as bytes and back, where another process or a later run reads them: numbers are little-endian, and everything that varies in
// size follows its count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace glean::base {

class Encoder {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  void real(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    number(bits);
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void bytes(std::span<const std::byte> bytes) {
    number(bytes.size());
    raw(bytes);
  }
  void text(std::string_view value) { bytes(std::as_bytes(std::span(value))); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// What is read is not trusted: what cannot be throws io, "<what> is damaged: <why>".
class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, std::string_view what) : rest_(bytes), what_(what) {}

  [[noreturn]] void reject(const std::string& why) const { throw Error(Errc::io, std::string(what_) + " is damaged: " + why); }

  [[nodiscard]] std::uint8_t byte() { return std::to_integer<std::uint8_t>(raw(1).front()); }
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const std::byte each : raw(8)) {
      value |= std::to_integer<std::uint64_t>(each) << shift;
      shift += 8;
    }
    return value;
  }
  [[nodiscard]] double real() {
    const std::uint64_t bits = number();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  // A number of things that take at least `bytes_each` each, so that memory is never asked for in vain.
  [[nodiscard]] std::size_t count(std::size_t bytes_each, const char* of) {
    const std::uint64_t value = number();
    if (value > rest_.size() / bytes_each) reject(std::string("there are more ") + of + " than there can be");
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] std::span<const std::byte> raw(std::size_t size) {
    if (size > rest_.size()) reject("it ends too early");
    const auto bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }
  [[nodiscard]] std::span<const std::byte> bytes() { return raw(count(1, "bytes")); }
  [[nodiscard]] std::string text() {
    const auto characters = raw(count(1, "characters"));
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  // One of so many values, from 0 on.
  template <class Enum>
  [[nodiscard]] Enum choice(int choices, const char* of) {
    const std::uint8_t value = byte();
    if (value >= choices) reject(std::string("there is no such ") + of);
    return static_cast<Enum>(value);
  }
  void expect_end() const {
    if (!rest_.empty()) reject("something follows its end");
  }
  [[nodiscard]] std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
  std::string_view what_;
};

}  // namespace glean::base
