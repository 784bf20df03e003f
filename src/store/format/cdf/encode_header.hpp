// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the header of a classic NetCDF file without a library, of a file whose number of records is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/format/cdf/header.hpp"

namespace glean::store {

struct EncodedCdfHeader {
  std::vector<std::byte> bytes;   // from the begin of the file
  CdfHeader header;               // what they say: with the places of the variables
};

// Variables one behind the other, then records. `least`: the oldest format; where a type, a length or a place does not fit, a newer one.
// The length depends on names, lengths and types only, not on the values of attributes. Throws invalid_argument, naming what NetCDF cannot
// hold. Pure.
[[nodiscard]] EncodedCdfHeader encode_cdf_header(CdfVersion least, const mesh::Definitions& definitions, std::uint64_t records);

}   // namespace glean::store
