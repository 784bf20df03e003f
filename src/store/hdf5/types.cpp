// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/types.hpp"

#include <algorithm>
#include <bit>

namespace glean::store {

static_assert(std::endian::native == std::endian::little, "values of attributes are written as they are in memory");

hid_t hdf5_number_type(mesh::Type type) {
  switch (type) {
    case mesh::Type::int8: return H5T_STD_I8LE;
    case mesh::Type::uint8: return H5T_STD_U8LE;
    case mesh::Type::int16: return H5T_STD_I16LE;
    case mesh::Type::uint16: return H5T_STD_U16LE;
    case mesh::Type::int32: return H5T_STD_I32LE;
    case mesh::Type::uint32: return H5T_STD_U32LE;
    case mesh::Type::int64: return H5T_STD_I64LE;
    case mesh::Type::uint64: return H5T_STD_U64LE;
    case mesh::Type::float32: return H5T_IEEE_F32LE;
    case mesh::Type::float64: return H5T_IEEE_F64LE;
    case mesh::Type::text: break;
  }
  return H5T_C_S1;
}

Handle hdf5_text_type(std::size_t bytes, bool is_ascii, const std::string& what) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, what);
  check(H5Tset_size(type.id(), bytes), what);
  check(H5Tset_strpad(type.id(), H5T_STR_NULLPAD), what);
  check(H5Tset_cset(type.id(), is_ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8), what);
  return type;
}

Handle hdf5_element_type(mesh::Type type, const std::string& what) {
  return type == mesh::Type::text ? hdf5_text_type(1, true, what) : Handle(H5Tcopy(hdf5_number_type(type)), H5Tclose, what);
}

void write_hdf5_attribute(hid_t object, const std::string& name, const mesh::Attribute& attribute, const std::string& what) {
  const hsize_t count = attribute.count();
  const bool is_text = attribute.type == mesh::Type::text;
  const bool is_ascii = std::all_of(attribute.values.begin(), attribute.values.end(), [](std::byte b) { return b < std::byte{0x80}; });
  const Handle type = is_text ? hdf5_text_type(std::max<std::size_t>(count, 1), is_ascii, what) : hdf5_element_type(attribute.type, what);
  const bool is_one = count == 1 || is_text;
  const Handle space(count == 0 ? H5Screate(H5S_NULL)
                     : is_one   ? H5Screate(H5S_SCALAR)
                                : H5Screate_simple(1, &count, nullptr),
                     H5Sclose, what);
  const Handle made(H5Acreate2(object, name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, what);
  if (count != 0) check(H5Awrite(made.id(), type.id(), attribute.values.data()), what);
}

}  // namespace glean::store
