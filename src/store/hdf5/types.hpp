// SPDX-License-Identifier: BSD-3-Clause
//
// Types and attributes of HDF5, as the files of this library have them: little-endian numbers, and text of fixed length.
#pragma once

#include <cstddef>
#include <string>

#include "mesh/definitions.hpp"
#include "store/hdf5/library.hpp"

namespace glean::store {

// Not of text.
[[nodiscard]] hid_t hdf5_number_type(mesh::Type type);
// So many bytes of text without an end, padded with zeros. `what` begins the message of an error here and below.
[[nodiscard]] Handle hdf5_text_type(std::size_t bytes, bool is_ascii, const std::string& what);
// Text: of one byte.
[[nodiscard]] Handle hdf5_element_type(mesh::Type type, const std::string& what);

// Under `name`, which may be another than the attribute's own. A scalar where it has one value or is text, and without a value where it
// has none.
void write_hdf5_attribute(hid_t object, const std::string& name, const mesh::Attribute& attribute, const std::string& what);

}  // namespace glean::store
