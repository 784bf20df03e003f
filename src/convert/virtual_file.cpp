// SPDX-License-Identifier: BSD-3-Clause
//
// The header of the joined file is opened in memory, and copied object by object; only datasets change their layout.
#include "convert/virtual_file.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/format/new_file.hpp"
#include "store/hdf5/library.hpp"
#include "store/hdf5/memory_driver.hpp"
#include "store/hdf5/placed_image.hpp"
#include "store/posix/input_file.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::convert {
namespace {

namespace fs = std::filesystem;
using store::check;
using store::Handle;

constexpr char making[] = "cannot make an HDF5 file of virtual datasets";

// What is printed like a format there: %b is the number of a block.
std::string without_formats(const std::string& name) {
  std::string escaped;
  for (const char c : name) escaped.append(c == '%' ? 2 : 1, c);
  return escaped;
}

std::vector<std::string> attributes_of(hid_t object) {
  std::vector<std::string> names;
  const auto note = [](hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &names), making);
  return names;
}

// Those that a program has defined: numbers and texts. What the library keeps of scales has other types, or names of its own.
void copy_attributes(hid_t from, hid_t to, bool is_scale) {
  for (const std::string& name : attributes_of(from)) {
    if (is_scale && (name == "CLASS" || name == "NAME")) continue;
    const Handle source(H5Aopen(from, name.c_str(), H5P_DEFAULT), H5Aclose, making), type(H5Aget_type(source.id()), H5Tclose, making);
    const H5T_class_t kind = H5Tget_class(type.id());
    if (kind == H5T_VLEN || kind == H5T_COMPOUND) continue;
    const Handle space(H5Aget_space(source.id()), H5Sclose, making);
    const Handle copy(H5Acreate2(to, name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, making);
    if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) continue;
    std::vector<std::byte> value(H5Aget_storage_size(source.id()));
    check(H5Aread(source.id(), type.id(), value.data()), making);
    check(H5Awrite(copy.id(), type.id(), value.data()), making);
  }
}

// Of one that is found by a reference.
std::string path_of(hid_t object) {
  std::string path(static_cast<std::size_t>(check(H5Iget_name(object, nullptr, 0), making)), '\0');
  check(H5Iget_name(object, path.data(), path.size() + 1), making);
  return path;
}

class VirtualDatasets {
 public:
  // `directory`: of the file that is made.
  VirtualDatasets(const std::vector<store::Part>& parts, std::uint64_t records, const fs::path& directory)
      : parts_(parts), layout_(parts.front().index.layout), records_(records) {
    for (const store::Part& part : parts) files_.push_back(without_formats(fs::canonical(part.path).lexically_proximate(directory)));
    for (std::size_t v = 0; v < layout_.variables.size(); ++v) variables_.emplace("/" + layout_.variables[v].name, v);
  }

  // Copies what is in the file of the first identifier to the other.
  void make(store::SystemCalls& calls, hid_t from, hid_t to) {
    copy_group(calls, from, to, "/");
    for (const auto& [path, variable] : variables_) make_scale(from, to, path);
    // In the order of the definitions, as store::attach_scales(): a scale lists its datasets so.
    for (const store::VariableLayout& variable : layout_.variables) attach_scales(from, to, "/" + variable.name);
  }

 private:
  // `path` ends with a slash.
  void copy_group(store::SystemCalls& calls, hid_t from, hid_t to, const std::string& path) {
    const Handle source(H5Gopen2(from, path.c_str(), H5P_DEFAULT), H5Gclose, making);
    const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, making);
    check(H5Pset_obj_track_times(creation.id(), false), making);
    const Handle group(path == "/" ? H5Gopen2(to, "/", H5P_DEFAULT)
                                   : H5Gcreate2(to, path.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                       H5Gclose, making);
    copy_attributes(source.id(), group.id(), false);
    H5G_info_t info{};
    check(H5Gget_info(source.id(), &info), making);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const auto read = [&](char* into, std::size_t size) {
        return static_cast<std::size_t>(check(
            H5Lget_name_by_idx(source.id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, into, size, H5P_DEFAULT), making));
      };
      std::string name(read(nullptr, 0), '\0');
      read(name.data(), name.size() + 1);
      const Handle object(H5Oopen(source.id(), name.c_str(), H5P_DEFAULT), H5Oclose, making);
      if (H5Iget_type(object.id()) == H5I_GROUP) copy_group(calls, from, to, path + name + "/");
      else make_dataset(calls, object.id(), to, path + name);
    }
  }

  void make_dataset(store::SystemCalls& calls, hid_t source, hid_t to, const std::string& path) {
    const auto found = variables_.find(path);
    if (found == variables_.end()) throw base::Error(base::Errc::io, fmt::format("the index of a part does not know of '{}'", path));
    const store::VariableLayout& variable = layout_.variables[found->second];
    const bool is_scalar = variable.shape.empty() && !variable.per_step();
    const Handle type(H5Dget_type(source), H5Tclose, making), space(H5Dget_space(source), H5Sclose, making);
    const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, making);
    check(H5Pset_obj_track_times(list.id(), false), making);
    if (variable.fill) check(H5Pset_fill_value(list.id(), type.id(), variable.fill_value.data()), making);
    if (!is_scalar) place(list.id(), space.id(), found->second, path);
    const Handle dataset(H5Dcreate2(to, path.c_str(), type.id(), space.id(), H5P_DEFAULT, list.id(), H5P_DEFAULT), H5Dclose, making);
    // A virtual dataset has dimensions.
    if (is_scalar) check(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value_of(calls, found->second).data()), making);
    copy_attributes(source, dataset.id(), H5DSis_scale(source) > 0);
  }

  [[nodiscard]] std::vector<std::byte> value_of(store::SystemCalls& calls, std::size_t v) const {
    const store::VariableLayout& variable = layout_.variables[v];
    std::vector<std::byte> value(variable.record_bytes());
    if (variable.fill) std::copy_n(variable.fill_value.begin(), value.size(), value.begin());
    for (const store::Part& part : parts_) {
      if (!part.index.boxes[v].empty()) store::InputFile(calls, part.path).read_with_zeros(value, variable.begin_bytes);
    }
    return value;
  }

  // Every box is where it is in the part.
  void place(hid_t list, hid_t space, std::size_t v, const std::string& path) const {
    const store::VariableLayout& variable = layout_.variables[v];
    check(H5Pset_layout(list, H5D_VIRTUAL), making);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::uint64_t records = std::min(records_, parts_[p].records);
      if (variable.per_step() && records == 0) continue;
      for (const mesh::Box& box : parts_[p].index.boxes[v]) {
        std::vector<hsize_t> all(variable.shape.begin(), variable.shape.end()), start(box.start.begin(), box.start.end()),
            count(box.count.begin(), box.count.end());
        if (variable.per_step()) {
          all.insert(all.begin(), parts_[p].records);
          start.insert(start.begin(), 0);
          count.insert(count.begin(), records);
        }
        const Handle source(H5Screate_simple(static_cast<int>(all.size()), all.data(), nullptr), H5Sclose, making);
        for (const hid_t side : {source.id(), space}) {
          check(H5Sselect_hyperslab(side, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), making);
        }
        check(H5Pset_virtual(list, space, files_[p].c_str(), without_formats(path).c_str(), source.id()), making);
      }
    }
    check(H5Sselect_all(space), making);
  }

  static Handle dataset(hid_t file, const std::string& path) { return {H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, making}; }

  static void make_scale(hid_t from, hid_t to, const std::string& path) {
    const Handle source = dataset(from, path), made = dataset(to, path);
    if (H5DSis_scale(source.id()) <= 0) return;
    std::string name(static_cast<std::size_t>(check(H5DSget_scale_name(source.id(), nullptr, 0), making)), '\0');
    check(H5DSget_scale_name(source.id(), name.data(), name.size() + 1), making);
    check(H5DSset_scale(made.id(), name.c_str()), making);
  }

  static void attach_scales(hid_t from, hid_t to, const std::string& path) {
    const Handle source = dataset(from, path), made = dataset(to, path), space(H5Dget_space(source.id()), H5Sclose, making);
    if (H5DSis_scale(source.id()) > 0) return;
    const auto note = [](hid_t /*dataset*/, unsigned /*dimension*/, hid_t scale, void* into) -> herr_t {
      *static_cast<std::string*>(into) = path_of(scale);
      return 0;
    };
    for (int d = 0; d < H5Sget_simple_extent_ndims(space.id()); ++d) {
      std::string scale;
      check(H5DSiterate_scales(source.id(), static_cast<unsigned>(d), nullptr, note, &scale), making);
      if (!scale.empty()) check(H5DSattach_scale(made.id(), dataset(to, scale).id(), static_cast<unsigned>(d)), making);
    }
  }

  const std::vector<store::Part>& parts_;
  const store::FileLayout& layout_;
  std::uint64_t records_;
  std::vector<std::string> files_;   // of the parts, as the library is told
  std::map<std::string, std::size_t> variables_;   // by path
};

// The first bytes of the joined file, which has holes for data.
void read_header(const store::Part& part, const store::Whole& whole, store::MetadataFile& into) {
  into.reserve(part.header.size());
  into.write(0, part.header.data(), part.header.size());
  for (const store::Patch& patch : whole.finished.patches) into.write(patch.offset, patch.bytes.data(), patch.bytes.size());
  into.expect_data({part.header.size(), std::max<Bytes>(part.header.size(), whole.finished.size)});
  static_cast<void>(into.allocate_data(std::max<Bytes>(part.header.size(), whole.finished.size) - part.header.size()));
}

std::vector<std::byte> metadata_of(store::SystemCalls& calls, const std::vector<store::Part>& parts, const store::Whole& whole,
                                   const fs::path& directory) {
  store::require_hdf5_of_headers();
  const store::QuietErrors quiet;
  const store::MemoryDriver driver;
  store::MetadataFile joined, made;
  read_header(parts.front(), whole, joined);
  const Handle of_joined(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, making), of_made(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, making),
      creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, making);
  driver.use(of_joined.id(), joined);
  driver.use(of_made.id(), made);
  // The first version that has virtual datasets, and places in them beyond 2^32.
  check(H5Pset_libver_bounds(of_made.id(), H5F_LIBVER_V110, H5F_LIBVER_V110), making);
  check(H5Pset_fclose_degree(of_joined.id(), H5F_CLOSE_STRONG), making);
  check(H5Pset_fclose_degree(of_made.id(), H5F_CLOSE_STRONG), making);
  check(H5Pset_obj_track_times(creation.id(), false), making);
  const Handle from(H5Fopen("joined", H5F_ACC_RDONLY, of_joined.id()), H5Fclose, making);
  Handle to(H5Fcreate("virtual", H5F_ACC_TRUNC, creation.id(), of_made.id()), H5Fclose, making);
  VirtualDatasets(parts, whole.records, directory).make(calls, from.id(), to.id());
  to.close(making);
  return made.metadata();
}

}  // namespace

store::Joined join_virtually(store::SystemCalls& calls, const std::vector<store::Part>& parts, const std::string& output) {
  const std::string& format = parts.front().index.layout.format;
  if (format != store::hdf5_name) {
    throw base::Error(base::Errc::unsupported,
                      fmt::format("'{}' is of format {}: only HDF5 has virtual datasets", parts.front().path, format),
                      "without --virtual the parts become one file");
  }
  const store::Whole whole = store::whole_of(parts);
  const store::FileNames names =
      store::choose_names(output, base::Publish::rename, false, fmt::format("{}-{}", getpid(), base::now_ns()));
  const std::vector<store::Patch> content = {{0, metadata_of(calls, parts, whole, fs::path(names.final_path).parent_path())}};
  store::make_new_file(calls, names, content);
  try {
    store::File file(calls, names, base::DirectIo::off);
    store::remove_sidecar(calls, names.final_path);   // of the file that is replaced
    file.publish();
  } catch (...) {
    calls.unlink(names.working_path.c_str());
    throw;
  }
  return {names.final_path, content.front().bytes.size(), whole.records, whole.steps_left_out};
}

}  // namespace glean::convert
