// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/input_attributes.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <string_view>

#include "store/hdf5/input_types.hpp"

namespace glean::store {
namespace {

const std::string reading_attributes = "its attributes cannot be read";

std::string text_of_variable_length(hid_t attribute, hid_t type) {
  char* text = nullptr;
  check(H5Aread(attribute, type, static_cast<void*>(&text)), reading_attributes);
  const std::string value = text == nullptr ? "" : text;
  H5free_memory(text);
  return value;
}

// Without what pads it.
void read_text(hid_t attribute, hid_t type, std::vector<std::byte>& values) {
  if (H5Tis_variable_str(type) > 0) {
    const std::string value = text_of_variable_length(attribute, type);
    const auto bytes = std::as_bytes(std::span(value));
    values.assign(bytes.begin(), bytes.end());
    return;
  }
  values.resize(H5Tget_size(type));
  check(H5Aread(attribute, type, values.data()), reading_attributes);
  if (H5Tget_strpad(type) == H5T_STR_NULLTERM) values.erase(std::find(values.begin(), values.end(), std::byte{0}), values.end());
  const std::byte padding{H5Tget_strpad(type) == H5T_STR_SPACEPAD ? std::uint8_t{' '} : std::uint8_t{0}};
  while (!values.empty() && values.back() == padding) values.pop_back();
}

void add_attribute(hid_t id, const std::string& name, int variable, FileContents& contents) {
  const Handle type(H5Aget_type(id), H5Tclose, reading_attributes), space(H5Aget_space(id), H5Sclose, reading_attributes);
  const bool is_null = H5Sget_simple_extent_type(space.id()) == H5S_NULL;
  const auto count = is_null ? 0 : static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space.id()), reading_attributes));
  const auto refuse = [&](const std::string& why) {
    contents.unreadable.push_back({variable, true, name, why, "h5py and HDF5 read it"});
  };
  mesh::Attribute attribute{variable, name, mesh::Type::text, {}};
  if (H5Tget_class(type.id()) == H5T_STRING) {
    if (count > 1) return refuse("it has " + std::to_string(count) + " texts");
    if (count == 1) read_text(id, type.id(), attribute.values);
  } else {
    const auto element = hdf5_element_of(type.id());
    if (!element) return refuse("it has " + hdf5_kind_of(type.id()));
    attribute.type = element->type;
    attribute.values.resize(count * mesh::size_of(element->type));
    const Handle memory = hdf5_memory_type(type.id(), *element, reading_attributes);
    if (count != 0) check(H5Aread(id, memory.id(), attribute.values.data()), reading_attributes);
  }
  contents.attributes.push_back(std::move(attribute));
}

// What other libraries keep for themselves.
bool is_mark(std::string_view name, bool is_scale) {
  constexpr std::string_view marks[] = {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates",
                                        "_NCProperties",  "_nc3_strict"};
  return std::find(std::begin(marks), std::end(marks), name) != std::end(marks) || (is_scale && (name == "CLASS" || name == "NAME"));
}

struct Visit {
  const std::string& prefix;
  int variable;
  bool is_scale;
  FileContents& contents;
  std::exception_ptr failed;
};

// No exception passes the library, which is in C.
herr_t see(hid_t owner, const char* name, const H5A_info_t* /*info*/, void* data) {
  auto& visit = *static_cast<Visit*>(data);
  try {
    if (is_mark(name, visit.is_scale)) return 0;
    const Handle id(H5Aopen(owner, name, H5P_DEFAULT), H5Aclose, reading_attributes);
    add_attribute(id.id(), visit.prefix + name, visit.variable, visit.contents);
    return 0;
  } catch (...) {
    visit.failed = std::current_exception();
    return -1;
  }
}

bool keeps_order(hid_t object, bool is_dataset) {
  const Handle properties(is_dataset ? H5Dget_create_plist(object) : H5Gget_create_plist(object), H5Pclose, reading_attributes);
  unsigned order = 0;
  return H5Pget_attr_creation_order(properties.id(), &order) >= 0 && (order & H5P_CRT_ORDER_TRACKED) != 0;
}

}  // namespace

void add_hdf5_attributes(hid_t object, const std::string& prefix, int variable, FileContents& contents) {
  const bool is_dataset = H5Iget_type(object) == H5I_DATASET;
  Visit visit{prefix, variable, is_dataset && H5DSis_scale(object) > 0, contents, nullptr};
  hsize_t at = 0;
  const H5_index_t order = keeps_order(object, is_dataset) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  const herr_t result = H5Aiterate2(object, order, H5_ITER_INC, &at, see, &visit);
  if (visit.failed) std::rethrow_exception(visit.failed);
  check(result, reading_attributes);
}

}  // namespace glean::store
