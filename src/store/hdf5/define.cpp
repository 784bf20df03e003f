// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/define.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/hdf5/types.hpp"

namespace glean::store {
namespace {

// Names are whatever the program gave: messages show a beginning.
std::string quoted(const std::string& name) {
  constexpr std::size_t shown = 60;
  return name.size() <= shown ? "'" + name + "'" : "'" + name.substr(0, shown) + "...'";
}

Handle dataspace(const VariableLayout& variable, const std::string& what) {
  std::vector<hsize_t> lengths(variable.shape.begin(), variable.shape.end()), most = lengths;
  if (variable.per_step()) {
    lengths.insert(lengths.begin(), 0);
    most.insert(most.begin(), H5S_UNLIMITED);
  }
  const hid_t id = lengths.empty() ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), most.data());
  return {id, H5Sclose, what};
}

const mesh::Attribute* fill_attribute(const mesh::Definitions& definitions, int variable) {
  const auto found = std::find_if(definitions.attributes.begin(), definitions.attributes.end(), [&](const mesh::Attribute& attribute) {
    return attribute.variable == variable && attribute.name == "_FillValue";
  });
  return found == definitions.attributes.end() ? nullptr : &*found;
}

class Objects {
 public:
  Objects(hid_t file, MetadataFile& metadata, const mesh::Definitions& definitions, const DatasetPlaces& places)
      : file_(file), metadata_(metadata), definitions_(definitions), places_(places),
        with_groups_(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "cannot make HDF5 metadata") {
    check(H5Pset_create_intermediate_group(with_groups_.id(), 1), "cannot make HDF5 metadata");
  }

  std::vector<Bytes> define() {
    std::vector<Bytes> headers;
    for (std::size_t v = 0; v < definitions_.variables.size(); ++v) headers.push_back(define_variable(v));
    for (std::size_t a = 0; a < definitions_.attributes.size(); ++a) {
      mesh::Attribute attribute = definitions_.attributes[a];
      const std::uint64_t mark = hdf5_count_mark(a);
      if (attribute.counts_records) std::memcpy(attribute.values.data(), &mark, sizeof mark);
      define_attribute(attribute);
    }
    return headers;
  }

 private:
  // Data are neither filled nor compressed, and contiguous ones have their place at once.
  Handle creation(std::size_t v, const Handle& type, const std::string& what) {
    const VariableLayout& variable = places_.layout.variables[v];
    Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what);
    check(H5Pset_obj_track_times(list.id(), false), what);
    check(H5Pset_fill_time(list.id(), H5D_FILL_TIME_NEVER), what);
    if (variable.fill || fill_attribute(definitions_, static_cast<int>(v)) != nullptr) {
      check(H5Pset_fill_value(list.id(), type.id(), variable.fill_value.data()), what);
    }
    if (!variable.per_step()) {
      check(H5Pset_layout(list.id(), H5D_CONTIGUOUS), what);
      check(H5Pset_alloc_time(list.id(), H5D_ALLOC_TIME_EARLY), what);
      return list;
    }
    std::vector<hsize_t> chunk(places_.chunks[v].begin(), places_.chunks[v].end());
    chunk.insert(chunk.begin(), 1);
    check(H5Pset_chunk(list.id(), static_cast<int>(chunk.size()), chunk.data()), what);
    check(H5Pset_alloc_time(list.id(), H5D_ALLOC_TIME_INCR), what);
    return list;
  }

  Bytes define_variable(std::size_t v) {
    const VariableLayout& variable = places_.layout.variables[v];
    const std::string what = "cannot define variable " + quoted(variable.name);
    const Handle type = hdf5_element_type(variable.external, what), space = dataspace(variable, what), list = creation(v, type, what);
    const bool has_data = !variable.per_step() && variable.record_bytes() != 0;   // what has no elements gets no place
    if (has_data) metadata_.expect_data({variable.begin_bytes, variable.begin_bytes + variable.record_bytes()});
    const Handle dataset(H5Dcreate2(file_, variable.name.c_str(), type.id(), space.id(), with_groups_.id(), list.id(), H5P_DEFAULT),
                         H5Dclose, what);
    if (!metadata_.has_been_taken()) throw base::Error(base::Errc::io, what + ": HDF5 has not allocated its data at once");
    return header_address(dataset.id(), what);
  }

  static Bytes header_address(hid_t object, const std::string& what) {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info{};
    haddr_t address = HADDR_UNDEF;
    check(H5Oget_info3(object, &info, H5O_INFO_BASIC), what);
    check(H5VLnative_token_to_addr(object, info.token, &address), what);
    return address;
#else
    H5O_info_t info{};
    check(H5Oget_info2(object, &info, H5O_INFO_BASIC), what);
    return info.addr;
#endif
  }

  // A name of an attribute of the output may begin with that of a group, or of a variable: then it belongs to that. One that ends there is
  // none: the group is made.
  Handle owner(const mesh::Attribute& attribute, std::string& name, const std::string& what) {
    if (attribute.variable >= 0) {
      const std::string& variable = definitions_.variables.at(static_cast<std::size_t>(attribute.variable)).name;
      return {H5Oopen(file_, variable.c_str(), H5P_DEFAULT), H5Oclose, what};
    }
    const std::size_t slash = name.rfind('/');
    const std::string path = slash == name.npos ? "/" : name.substr(0, slash);
    if (slash != name.npos) name.erase(0, slash + 1);
    const hid_t there = H5Oopen(file_, path.c_str(), H5P_DEFAULT);
    if (there >= 0) return {there, H5Oclose, what};
    return {H5Gcreate2(file_, path.c_str(), with_groups_.id(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose, what};
  }

  void define_attribute(const mesh::Attribute& attribute) {
    std::string what = "cannot define attribute " + quoted(attribute.name);
    if (attribute.variable >= 0) {
      what += " of variable " + quoted(definitions_.variables.at(static_cast<std::size_t>(attribute.variable)).name);
    }
    std::string name = attribute.name;
    const Handle object = owner(attribute, name, what);
    if (name.empty() && attribute.variable < 0) return;
    write_hdf5_attribute(object.id(), name, attribute, what);
  }

  hid_t file_;
  MetadataFile& metadata_;
  const mesh::Definitions& definitions_;
  const DatasetPlaces& places_;
  Handle with_groups_;   // creates links, with the groups above them
};

template <class T>
std::array<std::byte, 8> bytes_of(T value) {
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

std::vector<Bytes> define(hid_t file, MetadataFile& metadata, const mesh::Definitions& definitions, const DatasetPlaces& places) {
  return Objects(file, metadata, definitions, places).define();
}

// No address, length or text of a header looks like it.
std::uint64_t hdf5_count_mark(std::size_t attribute) { return 0xf7c3'9e51'a08d'0000U + attribute % 0x10000; }

std::array<std::byte, 8> hdf5_fill_value(const mesh::Definitions& definitions, int variable) {
  const mesh::VariableDefinition& definition = definitions.variables[static_cast<std::size_t>(variable)];
  if (const mesh::Attribute* attribute = fill_attribute(definitions, variable)) {
    if (attribute->type != definition.external || attribute->count() != 1) {
      throw base::Error(base::Errc::invalid_argument, "cannot define attribute '_FillValue' of variable " + quoted(definition.name) +
                                                          ": it is not one value of the variable's type");
    }
    std::array<std::byte, 8> value{};
    std::copy(attribute->values.begin(), attribute->values.end(), value.begin());
    return value;
  }
  switch (definition.external) {   // those of NetCDF
    case mesh::Type::int8: return bytes_of(std::int8_t{-127});
    case mesh::Type::uint8: return bytes_of(std::uint8_t{255});
    case mesh::Type::int16: return bytes_of(std::int16_t{-32767});
    case mesh::Type::uint16: return bytes_of(std::uint16_t{65535});
    case mesh::Type::int32: return bytes_of(std::int32_t{-2147483647});
    case mesh::Type::uint32: return bytes_of(std::uint32_t{4294967295U});
    case mesh::Type::int64: return bytes_of(std::int64_t{-9223372036854775806});
    case mesh::Type::uint64: return bytes_of(std::uint64_t{18446744073709551614U});
    case mesh::Type::float32: return bytes_of(9.9692099683868690e+36F);
    case mesh::Type::float64: return bytes_of(9.9692099683868690e+36);
    case mesh::Type::text: break;
  }
  return {};
}

}  // namespace glean::store
