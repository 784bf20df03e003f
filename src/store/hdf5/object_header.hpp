// SPDX-License-Identifier: BSD-3-Clause
//
// Where the library has put what changes when a dataset gets records: read from the metadata that it has made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"

namespace glean::store {

using base::Bytes;

struct RecordPlaces {
  Bytes length_offset = 0;   // of the first dimension in the dataspace message
  Bytes index_offset = 0;    // of the address in the layout message
};

// `address`: of the object header (version 1) of a chunked dataset without chunks. Throws io where it is not as expected.
[[nodiscard]] RecordPlaces record_places(std::span<const std::byte> metadata, Bytes address);

// Of the end of the file in the superblock at the beginning (version 0 or 1). Throws io where there is none.
[[nodiscard]] Bytes end_offset(std::span<const std::byte> metadata);

}  // namespace glean::store
