// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/input_types.hpp"

#include <span>

#include "store/hdf5/types.hpp"

namespace glean::store {
namespace {

const std::string telling_a_type = "cannot tell a type";

bool is_text(mesh::Type type) { return type == mesh::Type::text; }

std::optional<Hdf5Element> standard(hid_t type) {
  const bool is_big = H5Tget_order(type) == H5T_ORDER_BE;
  for (int number = 0; number < mesh::type_count; ++number) {
    const auto one = static_cast<mesh::Type>(number);
    if (is_text(one) || mesh::size_of(one) != H5Tget_size(type)) continue;
    const Handle same(H5Tcopy(hdf5_number_type(one)), H5Tclose, telling_a_type);
    if (is_big) check(H5Tset_order(same.id(), H5T_ORDER_BE), telling_a_type);
    if (H5Tequal(same.id(), type) > 0) return Hdf5Element{one, true, is_big ? ByteOrder::big : ByteOrder::little, 1};
  }
  return std::nullopt;
}

// The smallest type that has all values of an uncommon one, such as float16 or 24 bits.
std::optional<Hdf5Element> wider(hid_t type, H5T_class_t kind) {
  const bool is_signed = kind == H5T_FLOAT || H5Tget_sign(type) == H5T_SGN_2;
  constexpr mesh::Type with_sign[] = {mesh::Type::int8, mesh::Type::int16, mesh::Type::int32, mesh::Type::int64};
  constexpr mesh::Type without_sign[] = {mesh::Type::uint8, mesh::Type::uint16, mesh::Type::uint32, mesh::Type::uint64};
  constexpr mesh::Type real[] = {mesh::Type::float32, mesh::Type::float64};
  const std::span<const mesh::Type> choices = kind == H5T_FLOAT ? std::span<const mesh::Type>(real)
                                              : is_signed       ? std::span<const mesh::Type>(with_sign)
                                                                : std::span<const mesh::Type>(without_sign);
  for (const mesh::Type one : choices) {
    // Of two kinds of floating point of one size none need have all values of the other.
    const bool is_enough = kind == H5T_FLOAT ? mesh::size_of(one) > H5Tget_size(type) : mesh::size_of(one) >= H5Tget_size(type);
    if (is_enough) return Hdf5Element{one, false, ByteOrder::little, 1};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Hdf5Element> hdf5_element_of(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) {
    if (H5Tis_variable_str(type) > 0) return std::nullopt;
    return Hdf5Element{mesh::Type::text, true, ByteOrder::little, H5Tget_size(type)};
  }
  if (kind == H5T_ENUM) {   // h5py's bool among them
    const Handle base(H5Tget_super(type), H5Tclose, telling_a_type);
    return standard(base.id());
  }
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return std::nullopt;
  const auto found = standard(type);
  return found ? found : wider(type, kind);
}

std::string hdf5_kind_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING: return "texts of variable length";
    case H5T_VLEN: return "sequences of variable length";
    case H5T_COMPOUND: return "records of several parts";
    case H5T_REFERENCE: return "references";
    case H5T_OPAQUE: return "opaque bytes";
    case H5T_ARRAY: return "arrays as elements";
    case H5T_BITFIELD: return "bit fields";
    case H5T_ENUM: return "an enumeration of uncommon numbers";
    default: return "numbers of " + std::to_string(H5Tget_size(type)) + " bytes of an uncommon kind";
  }
}

Handle hdf5_memory_type(hid_t file_type, const Hdf5Element& element, const std::string& what) {
  if (is_text(element.type)) return Handle(H5Tcopy(file_type), H5Tclose, what);
  if (H5Tget_class(file_type) == H5T_ENUM) return Handle(H5Tget_native_type(file_type, H5T_DIR_ASCEND), H5Tclose, what);
  return Handle(H5Tcopy(hdf5_number_type(element.type)), H5Tclose, what);
}

}  // namespace glean::store
