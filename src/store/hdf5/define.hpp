// SPDX-License-Identifier: BSD-3-Clause
//
// Definitions as objects of an HDF5 file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/hdf5/library.hpp"
#include "store/hdf5/memory_driver.hpp"
#include "store/layout.hpp"

namespace glean::store {

// Where and how the datasets are, in the order of the variables.
struct DatasetPlaces {
  FileLayout layout;
  std::vector<mesh::Shape> chunks;   // of a record; empty of what has none
};

// What stands in an attribute that counts records until its place among the metadata is found: another for each of them.
[[nodiscard]] std::uint64_t hdf5_count_mark(std::size_t attribute);

// Makes groups, datasets and attributes in `file`, whose driver is behind `metadata`. Datasets have no records, no fill value is written,
// and nothing depends on the time. Returns the addresses of the datasets' object headers.
std::vector<Bytes> define(hid_t file, MetadataFile& metadata, const mesh::Definitions& definitions, const DatasetPlaces& places);

// The value of `_FillValue`, or NetCDF's default, as it is in the file. Throws where the attribute is not one value of the variable's type.
[[nodiscard]] std::array<std::byte, 8> hdf5_fill_value(const mesh::Definitions& definitions, int variable);

}  // namespace glean::store
