// SPDX-License-Identifier: BSD-3-Clause
//
// HDF5: metadata of the library's own making in front, contiguous datasets, and record variables of which each record is a chunk, or
// several (docs/formats/hdf5.md). The library makes the metadata (store/hdf5/image.hpp); a file is finished without it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "store/format/format.hpp"

namespace glean::store {

inline constexpr std::string_view hdf5_name = "hdf5";

using MakeHdf5Image = std::function<FileImage(const mesh::Definitions&, base::RangeRule)>;

// `make`: what makes the metadata; without it files can be finished only.
[[nodiscard]] std::unique_ptr<const Format> make_hdf5_format(MakeHdf5Image make = nullptr);

// Of one chunk, as the format has it.
inline constexpr Bytes hdf5_chunk_most = (Bytes{1} << 32) - 1;

// How records of a shape are cut into chunks: one, or where that would be too large as few as there can be whose elements follow each other
// in the file as those of the record do. Pure.
[[nodiscard]] mesh::Shape hdf5_chunk_of(const mesh::Shape& record, Bytes element_bytes, Bytes most = hdf5_chunk_most);

}  // namespace glean::store
