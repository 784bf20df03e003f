// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the header of a classic NetCDF file (CDF-1, CDF-2, CDF-5) without a library, and trusts none of it.
//
// PnetCDF reads headers too (store/pnetcdf/read_header.hpp), with MPI, and ends the process for some that are damaged. The format is that
// of "The NetCDF Classic Format Specification" with the extensions of CDF-5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/format/cdf/cdf.hpp"
#include "store/layout.hpp"
#include "store/posix/input_file.hpp"

namespace glean::store {

struct CdfHeader {
  CdfVersion version = CdfVersion::cdf5;
  std::uint64_t records = 0;       // of every variable that has records
  mesh::Definitions definitions;   // without grids; an unlimited dimension has the length 0, and nothing is known of fill modes
  FileLayout layout;               // places and sizes cannot overflow; whether the file is as long is not looked at
  std::vector<Bytes> attribute_begins;   // where the values of each attribute are
  friend bool operator==(const CdfHeader&, const CdfHeader&) = default;
};

// A longer header is refused.
inline constexpr Bytes cdf_header_most = 32 * base::MiB;

// Of a file of `file_bytes` bytes, of which `begin` are the first. Nothing where the header does not end in them and the file goes on.
// Takes memory in proportion to `begin`. Throws io, naming all names and dimensions that cannot be, or the first thing behind which nothing
// can be read. Pure.
[[nodiscard]] std::optional<CdfHeader> parse_cdf_header(std::span<const std::byte> begin, Bytes file_bytes);

// Where so many records end, with the padding behind the last one, and all that is not per step. A file may be shorter: what was not put is
// not there, nor is the padding. Pure.
[[nodiscard]] Bytes bytes_of_records(const CdfHeader& header, std::uint64_t records);

// Throws io as above, and what the system says. Blocks.
[[nodiscard]] CdfHeader read_cdf_header(const InputFile& file);

}  // namespace glean::store
