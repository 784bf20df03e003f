// SPDX-License-Identifier: BSD-3-Clause
#include "contents.hpp"

#include <algorithm>

namespace transparent {

void Contents::grow(std::int64_t bytes_min) {
  if (bytes_min > static_cast<std::int64_t>(bytes.size())) cut(bytes_min, false);
}

void Contents::cut(std::int64_t size, bool is_defined) {
  const auto count = static_cast<std::size_t>(size);
  bytes.resize(count, 0);
  defined.resize(count, is_defined ? 1 : 0);
  writer.resize(count, -1);
  readers.resize(count, 0);
}

void Contents::synchronized() {
  std::fill(writer.begin(), writer.end(), std::int8_t{-1});
  std::fill(readers.begin(), readers.end(), 0U);
  visible_bytes = static_cast<std::int64_t>(bytes.size());
}

std::optional<std::string> Contents::difference(const std::string& found) const {
  if (found.size() != bytes.size()) return "has " + std::to_string(found.size()) + " bytes instead of " + std::to_string(bytes.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(found[i]);
    if (defined[i] != 0 && byte != bytes[i]) {
      return "has byte " + std::to_string(i) + " as " + std::to_string(byte) + " instead of " + std::to_string(bytes[i]);
    }
  }
  return std::nullopt;
}

}  // namespace transparent
