// SPDX-License-Identifier: BSD-3-Clause
//
// Types that files have, as types of this library.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>

#include "mesh/type.hpp"
#include "store/hdf5/library.hpp"
#include "store/layout.hpp"

namespace glean::store {

struct Hdf5Element {
  mesh::Type type = mesh::Type::float64;
  // In the file it is as `order` says; otherwise only the library makes this type of it.
  bool is_plain = true;
  ByteOrder order = ByteOrder::little;
  // Of text: characters of one element, whose end is padded. Each has them as one dimension more.
  std::uint64_t characters = 1;
};

// Numbers, enumerations of numbers and texts of fixed length. Nothing of another type.
[[nodiscard]] std::optional<Hdf5Element> hdf5_element_of(hid_t type);

// "texts of variable length": what it is whose type has no Hdf5Element.
[[nodiscard]] std::string hdf5_kind_of(hid_t type);

// In memory: native, or texts as they are in the file. `what` begins the message of an error.
[[nodiscard]] Handle hdf5_memory_type(hid_t file_type, const Hdf5Element& element, const std::string& what);

}  // namespace glean::store
