// SPDX-License-Identifier: BSD-3-Clause
//
// The classic NetCDF formats: a header, then variables big-endian. PnetCDF makes the header (store/pnetcdf/image.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "store/format/format.hpp"

namespace glean::store {

enum class CdfVersion : std::uint8_t { cdf1, cdf2, cdf5 };   // classic, 64-bit offset, 64-bit data

[[nodiscard]] std::string_view name_of(CdfVersion version);   // "cdf1", …

// How elements are held: CDF-1 and CDF-2 have no unsigned bytes, their int8 holds either.
[[nodiscard]] Stored stored_in(CdfVersion version);

using MakeCdfImage = std::function<FileImage(CdfVersion, const mesh::Definitions&, base::RangeRule)>;

// `make`: what makes the header; without it files can be finished only.
[[nodiscard]] std::unique_ptr<const Format> make_cdf_format(CdfVersion version, MakeCdfImage make = nullptr);

}  // namespace glean::store
