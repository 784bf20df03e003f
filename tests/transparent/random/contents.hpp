// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file, as they should be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transparent {

// Contents of a file, and what its ranks have touched since they last synchronized.
struct Contents {
  std::vector<std::uint8_t> bytes = {};
  std::vector<std::uint8_t> defined = {};    // a byte that was never written may be anything
  std::vector<std::int8_t> writer = {};      // -1: none
  std::vector<std::uint32_t> readers = {};   // a bit for each rank
  std::int64_t visible_bytes = 0;            // size of the file that all ranks know
  std::int64_t shared_pointer = 0;           // in etypes

  void grow(std::int64_t bytes_min);
  void cut(std::int64_t size, bool is_defined);   // or makes it longer, with zeros
  void synchronized();
  // What is wrong with these bytes of a file.
  [[nodiscard]] std::optional<std::string> difference(const std::string& found) const;
};

}  // namespace transparent
