// SPDX-License-Identifier: BSD-3-Clause
//
// What a conversion makes of one step, or of all: the metadata of a file, and which elements go where.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convert/semantics.hpp"
#include "store/format/file_image.hpp"

namespace glean::convert {

// Elements that follow each other in both files.
struct ElementCopy {
  int variable = 0;   // of the source
  std::uint64_t record = 0;
  std::uint64_t first = 0, count = 0;
  Bytes offset = 0;                            // in the target
  mesh::Type external = mesh::Type::float64;   // in the target: that of the variable, or float32 where that is float64
};

// Bytes that follow each other in the target, made part by part so that not all of them are in memory.
struct Computed {
  Bytes offset = 0;
  std::size_t parts = 0;
  std::function<std::vector<std::byte>(std::size_t)> make;
};

struct Target {
  store::FileImage image;
  std::vector<ElementCopy> copies;   // ascending in the target
  std::vector<Computed> computed;
  std::vector<store::Patch> patches;   // that are written at the end
  Bytes bytes = 0;                     // of the file
  std::string kind;                    // such as "FLASH HDF5"
  std::vector<std::string> notes;      // what a user should know of it, a sentence each
};

struct Selection {
  std::vector<int> fields;   // variables of the source
  bool single = false;       // fields in double precision become such of single precision

  // Of a field in the target.
  [[nodiscard]] mesh::Type type(const Source& source, int variable) const {
    const mesh::Type external = source.variable(variable).external;
    return single && external == mesh::Type::float64 ? mesh::Type::float32 : external;
  }
};

// All records; as the native interface makes it of the same definitions (docs/formats/hdf5.md).
[[nodiscard]] Target make_hdf5_target(const Source& source, const Semantics& semantics, const Selection& selection);
// One record, in FLASH's own layout (docs/formats/flash.md).
[[nodiscard]] Target make_flash_target(const Source& source, const Semantics& semantics, const Selection& selection, std::uint64_t record);
// One record, of blocks or a uniform grid (docs/formats/vtkhdf.md). `as_image`: a uniform grid becomes ImageData.
[[nodiscard]] Target make_vtkhdf_target(const Source& source, const Semantics& semantics, const Selection& selection, std::uint64_t record,
                                        bool as_image);

}  // namespace glean::convert
