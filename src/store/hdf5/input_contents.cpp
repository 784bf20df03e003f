// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/input_contents.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "store/format/hdf5/note.hpp"
#include "store/hdf5/input_attributes.hpp"
#include "store/hdf5/input_types.hpp"

namespace glean::store {
namespace {

const std::string listing_objects = "its contents cannot be listed";

// Dimensions have the name of their scale, or their label; others names as netCDF-C gives them: one for each length.
class DimensionNames {
 public:
  std::string of(hid_t dataset, unsigned dimension, std::uint64_t length, bool is_steps) {
    const std::string path = H5DSis_scale(dataset) > 0 ? name_of(dataset) : scale_of(dataset, dimension);
    if (!path.empty()) return path.substr(path.rfind('/') + 1);
    std::array<char, 256> label{};
    if (H5DSget_label(dataset, dimension, label.data(), label.size()) > 0) return label.data();
    const auto [place, is_new] = numbers_.emplace(std::pair(is_steps, is_steps ? 0 : length), numbers_.size());
    return "phony_dim_" + std::to_string(place->second);
  }

 private:
  static std::string name_of(hid_t object) {
    const ssize_t size = H5Iget_name(object, nullptr, 0);
    std::string name(static_cast<std::size_t>(std::max<ssize_t>(size, 0)), '\0');
    if (size > 0) H5Iget_name(object, name.data(), name.size() + 1);
    return name;
  }
  // The first scale of the dimension.
  static std::string scale_of(hid_t dataset, unsigned dimension) {
    if (H5DSget_num_scales(dataset, dimension) <= 0) return {};
    std::string path;
    const auto take = [](hid_t, unsigned, hid_t scale, void* data) -> herr_t {
      try {
        *static_cast<std::string*>(data) = name_of(scale);
      } catch (const std::exception&) {
        return -1;
      }
      return 1;
    };
    H5DSiterate_scales(dataset, dimension, nullptr, take, &path);
    return path;
  }

  std::map<std::pair<bool, std::uint64_t>, std::size_t> numbers_;
};

class Listing {
 public:
  explicit Listing(Hdf5Source source) : input_(std::move(source)) {}

  FileContents list() {
    struct Visit {
      std::vector<std::pair<std::string, bool>> objects;   // whether it is a dataset
      std::exception_ptr failed;
    } visit;
#if H5_VERSION_GE(1, 12, 0)
    using Info = H5O_info2_t;
#else
    using Info = H5O_info_t;
#endif
    const auto see = [](hid_t, const char* name, const Info* info, void* data) -> herr_t {
      auto& to = *static_cast<Visit*>(data);
      try {
        const std::string path = name;
        const bool is_dataset = info->type == H5O_TYPE_DATASET;
        if (is_dataset || info->type == H5O_TYPE_GROUP) to.objects.emplace_back(path == "." ? "" : path, is_dataset);
        return 0;
      } catch (...) {
        to.failed = std::current_exception();
        return -1;
      }
    };
#if H5_VERSION_GE(1, 12, 0)
    const herr_t result = H5Ovisit3(input_.id(), H5_INDEX_NAME, H5_ITER_INC, see, &visit, H5O_INFO_BASIC);
#else
    const herr_t result = H5Ovisit2(input_.id(), H5_INDEX_NAME, H5_ITER_INC, see, &visit, H5O_INFO_BASIC);
#endif
    if (visit.failed) std::rethrow_exception(visit.failed);
    check(result, listing_objects);
    for (const auto& [path, is_dataset] : visit.objects) {
      if (is_dataset) {
        add_dataset(path);
        continue;
      }
      const Handle group(H5Gopen2(input_.id(), path.empty() ? "/" : path.c_str(), H5P_DEFAULT), H5Gclose, listing_objects);
      add_hdf5_attributes(group.id(), path.empty() ? "" : path + "/", -1, contents_);
    }
    find_steps();
    return std::move(contents_);
  }

 private:
  struct Dataset {
    std::string path;
    hid_t id, type, space, properties;
  };

  void refuse(const std::string& path, const std::string& why, const std::string& hint = "h5py and HDF5 read it") {
    contents_.unreadable.push_back({-1, false, path, why, hint});
  }

  void add_dataset(const std::string& path) {
    const Handle id(H5Dopen2(input_.id(), path.c_str(), H5P_DEFAULT), H5Dclose, listing_objects);
    const Handle type(H5Dget_type(id.id()), H5Tclose, listing_objects), space(H5Dget_space(id.id()), H5Sclose, listing_objects);
    const Handle properties(H5Dget_create_plist(id.id()), H5Pclose, listing_objects);
    const Dataset dataset{path, id.id(), type.id(), space.id(), properties.id()};
    if (is_dimension_only(dataset.id)) return;
    if (H5Pget_layout(dataset.properties) == H5D_VIRTUAL) {
      return refuse(path, "it is virtual, its elements are in other files", "h5py and HDF5 read it; `glean join` makes one file of parts");
    }
    if (H5Pget_external_count(dataset.properties) > 0) return refuse(path, "its elements are in other files");
    if (has_empty_chunks(dataset)) return refuse(path, "it is damaged: its chunks are empty", "");
    if (!all_filters_are_there(dataset)) return;
    if (H5Tget_class(dataset.type) == H5T_COMPOUND) return add_parts(dataset);
    add(dataset, path, dataset.type, {path});
  }

  // How netCDF-4 keeps a dimension that has no coordinates.
  static bool is_dimension_only(hid_t dataset) {
    constexpr std::string_view mark = "This is a netCDF dimension but not a netCDF variable.";
    if (H5DSis_scale(dataset) <= 0) return false;
    std::array<char, 256> name{};
    return H5DSget_scale_name(dataset, name.data(), name.size()) > 0 && std::string_view(name.data()).starts_with(mark);
  }

  // HDF5 would never end reading it.
  static bool has_empty_chunks(const Dataset& dataset) {
    if (H5Pget_layout(dataset.properties) != H5D_CHUNKED) return false;
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int lengths = check(H5Pget_chunk(dataset.properties, H5S_MAX_RANK, chunk.data()), listing_objects);
    return std::find(chunk.begin(), chunk.begin() + lengths, 0U) != chunk.begin() + lengths;
  }

  bool all_filters_are_there(const Dataset& dataset) {
    const int filters = H5Pget_nfilters(dataset.properties);
    for (int f = 0; f < filters; ++f) {
      unsigned flags = 0, info = 0;
      std::size_t values = 0;
      std::array<char, 64> name{};
      const H5Z_filter_t filter = H5Pget_filter2(dataset.properties, static_cast<unsigned>(f), &flags, &values, nullptr, name.size() - 1,
                                                 name.data(), &info);
      if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
      const std::string which = name[0] == '\0' ? std::to_string(filter) : std::to_string(filter) + " (" + name.data() + ")";
      refuse(dataset.path, "it is compressed with HDF5's filter " + which + ", which GLEAN's HDF5 does not have",
             "HDF5_PLUGIN_PATH says where filters are; `h5repack -f GZIP=1` writes it with one that is always there");
      return false;
    }
    return true;
  }

  void add_parts(const Dataset& dataset) {
    const int parts = check(H5Tget_nmembers(dataset.type), listing_objects);
    refuse(dataset.path, "its elements have several parts", "read each as '" + dataset.path + ".PART'");
    for (int part = 0; part < parts; ++part) {
      char* const text = H5Tget_member_name(dataset.type, static_cast<unsigned>(part));
      const std::string name = text == nullptr ? "" : text;
      H5free_memory(text);
      const Handle type(H5Tget_member_type(dataset.type, static_cast<unsigned>(part)), H5Tclose, listing_objects);
      add(dataset, dataset.path + "." + name, type.id(), {dataset.path, name});
    }
  }

  void add(const Dataset& dataset, const std::string& name, hid_t type, std::vector<std::string> by_library) {
    const auto element = hdf5_element_of(type);
    if (!element) return refuse(name, "it has " + hdf5_kind_of(type));
    const bool is_part = by_library.size() > 1;
    FileContents::Variable variable;
    variable.name = name;
    variable.external = element->type;
    variable.stored.order = element->order;
    set_shape(dataset, *element, variable);
    if (variable.dimensions.empty() && H5Sget_simple_extent_type(dataset.space) == H5S_NULL) {   // no element at all
      variable.shape = {0};
      variable.dimensions = {names_.of(dataset.id, 0, 0, false)};
    }
    const bool is_found = !is_part && element->is_plain && find_elements(dataset, variable);
    if (!is_found) {
      variable.by_library = std::move(by_library);
      variable.stored.order = ByteOrder::little;   // as the library gives them
    }
    contents_.records = std::max(contents_.records, variable.records);
    contents_.variables.push_back(std::move(variable));
    add_hdf5_attributes(dataset.id, "", static_cast<int>(contents_.variables.size()) - 1, contents_);
  }

  void set_shape(const Dataset& dataset, const Hdf5Element& element, FileContents::Variable& variable) {
    std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(dataset.space), 0))), most(extents.size());
    if (!extents.empty()) check(H5Sget_simple_extent_dims(dataset.space, extents.data(), most.data()), listing_objects);
    variable.per_step = !extents.empty() && most.front() == H5S_UNLIMITED;
    if (variable.per_step) variable.records = extents.front();
    variable.shape.assign(extents.begin() + (variable.per_step ? 1 : 0), extents.end());
    for (std::size_t d = 0; d < extents.size(); ++d) {
      variable.dimensions.push_back(names_.of(dataset.id, static_cast<unsigned>(d), extents[d], d == 0 && variable.per_step));
    }
    if (element.characters == 1) return;
    variable.shape.push_back(element.characters);
    variable.dimensions.push_back("string" + std::to_string(element.characters));
  }

  // False: only the library can read them.
  bool find_elements(const Dataset& dataset, FileContents::Variable& variable) {
    if (std::find(variable.shape.begin(), variable.shape.end(), 0U) != variable.shape.end()) return true;   // there are none
    if (variable.per_step) return false;   // until it is known whether this library has written them
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    check(H5Dget_space_status(dataset.id, &status), listing_objects);
    if (H5Pget_layout(dataset.properties) != H5D_CONTIGUOUS || status != H5D_SPACE_STATUS_ALLOCATED) return false;
    variable.begin_bytes = H5Dget_offset(dataset.id);
    return true;
  }

  // Steps as this library writes them lie evenly, so that it can read them without the other.
  void find_steps() {
    Bytes first = input_.end();
    std::vector<std::pair<std::size_t, Bytes>> strides;
    for (std::size_t v = 0; v < contents_.variables.size(); ++v) {
      FileContents::Variable& variable = contents_.variables[v];
      if (!variable.per_step) {
        if (variable.by_library.empty() && mesh::elements_of(variable.shape) != 0) first = std::min(first, variable.begin_bytes);
        continue;
      }
      if (variable.by_library.size() != 1 || variable.records == 0) continue;
      if (const auto stride = stride_of(variable)) {
        strides.emplace_back(v, *stride);
        first = std::min(first, variable.begin_bytes);
      }
    }
    if (!ends_with_note(first) && !ends_with_note(input_.end())) return;
    contents_.counts_records_last = true;
    for (const auto& [v, stride] : strides) {
      contents_.variables[v].record_stride_bytes = stride;
      contents_.variables[v].by_library.clear();
    }
  }

  // From one step to the next, as the first, second and last chunks have it; sets where the first one begins.
  std::optional<Bytes> stride_of(FileContents::Variable& variable) const {
    const Handle dataset(H5Dopen2(input_.id(), variable.by_library.front().c_str(), H5P_DEFAULT), H5Dclose, listing_objects);
    const Handle type(H5Dget_type(dataset.id()), H5Tclose, listing_objects);
    const Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose, listing_objects);
    if (H5Pget_layout(properties.id()) != H5D_CHUNKED || H5Pget_nfilters(properties.id()) != 0) return std::nullopt;
    if (const auto element = hdf5_element_of(type.id()); !element || !element->is_plain || element->characters != 1) return std::nullopt;
    std::vector<hsize_t> chunk(variable.shape.size() + 1), at(chunk.size(), 0);
    const int lengths = check(H5Pget_chunk(properties.id(), static_cast<int>(chunk.size()), chunk.data()), listing_objects);
    if (lengths != static_cast<int>(chunk.size())) return std::nullopt;
    const auto address = [&]() -> Bytes {
      unsigned mask = 0;
      haddr_t found = HADDR_UNDEF;
      hsize_t size = 0;
      return H5Dget_chunk_info_by_coord(dataset.id(), at.data(), &mask, &found, &size) < 0 ? HADDR_UNDEF : found;
    };
    variable.begin_bytes = address();
    Bytes bytes = mesh::elements_of(variable.shape) * mesh::size_of(variable.external);
    bool is_even = variable.begin_bytes != HADDR_UNDEF && chunk.front() == 1;
    // Where a record has several chunks, they are cut along one dimension, and all behind it is whole.
    Bytes chunk_bytes = mesh::size_of(variable.external);
    for (const hsize_t length : chunk) chunk_bytes *= length;
    Bytes chunks = 1;
    for (std::size_t d = 1; d < chunk.size(); ++d) {
      const Bytes here = (variable.shape[d - 1] - 1) / chunk[d] + 1;
      at[d] = (here - 1) * chunk[d];
      chunks *= here;
    }
    if (chunks > 1) is_even = is_even && address() == variable.begin_bytes + (chunks - 1) * chunk_bytes;
    std::fill(at.begin(), at.end(), 0U);
    if (variable.records > 1) {
      at.front() = 1;
      bytes = address() - variable.begin_bytes;
      at.front() = variable.records - 1;
      is_even = is_even && address() == variable.begin_bytes + at.front() * bytes;
    }
    return is_even ? std::optional(bytes) : std::nullopt;
  }

  bool ends_with_note(Bytes end) const {
    std::array<std::byte, hdf5_note_mark_bytes> mark{};
    if (end < mark.size() || end > input_.source().bytes) return false;
    return input_.source().read(mark, end - mark.size()) && end_with_hdf5_note(mark);
  }

  Hdf5Input input_;
  DimensionNames names_;
  FileContents contents_;
};

}  // namespace

FileContents read_hdf5_contents(Hdf5Source source) { return Listing(std::move(source)).list(); }

}  // namespace glean::store
