// SPDX-License-Identifier: BSD-3-Clause
//
// Finds and loads the module that has HDF5 (store/hdf5/module.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mesh/definitions.hpp"
#include "store/format/file_image.hpp"
#include "store/input/file_reader.hpp"

namespace glean::session {

// By the module, which is loaded the first time, so that a program without HDF5 files has none of it. All throw unsupported where
// there is no such module; what the module throws. They block, and may be called by several threads.
[[nodiscard]] store::FileImage hdf5_image_by_module(const mesh::Definitions& definitions, base::RangeRule range);

[[nodiscard]] store::FileContents hdf5_contents_by_module(const store::InputFile& file);
// As FileReader::ByLibrary says.
void hdf5_elements_by_module(const store::InputFile& file, const store::FileContents::Variable& variable, std::uint64_t record,
                             const mesh::Box& box, std::byte* values);

}  // namespace glean::session
