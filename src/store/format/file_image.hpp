// SPDX-License-Identifier: BSD-3-Clause
//
// What a format has made of definitions, as a value: the bytes of the metadata, and where the data lies. It stands in the pool, so any
// process can make and complete the file.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "store/layout.hpp"

namespace glean::store {

// Bytes and where they belong in a file.
struct Patch {
  Bytes offset = 0;
  std::vector<std::byte> bytes;
  [[nodiscard]] base::Extent extent() const { return {offset, offset + bytes.size()}; }
  friend bool operator==(const Patch&, const Patch&) = default;
};

struct FileImage {
  FileLayout layout;             // with the name of the format
  std::vector<Patch> metadata;   // ascending, disjoint, and apart from all elements

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made.
  [[nodiscard]] static FileImage decode(std::span<const std::byte> bytes);
  friend bool operator==(const FileImage&, const FileImage&) = default;
};

}  // namespace glean::store
