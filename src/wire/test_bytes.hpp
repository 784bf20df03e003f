// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes and errors. For tests.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/test_error.hpp"

namespace glean::wire {

using ByteVector = std::vector<std::byte>;

inline ByteVector bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(const ByteVector& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

using base::error_of;

}  // namespace glean::wire
