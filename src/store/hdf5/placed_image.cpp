// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/placed_image.hpp"

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "store/hdf5/object_header.hpp"
#include "store/hdf5/types.hpp"

namespace glean::store {
namespace {

constexpr char making[] = "cannot make the metadata of an HDF5 file";
constexpr Bytes placed_all_most = Bytes{1} << 62;
constexpr Bytes somewhere_behind = Bytes{1} << 48;   // all metadata that fit into memory

Bytes placed_alignment(Bytes bytes) { return bytes >= 64 * base::KiB ? 4 * base::KiB : 8; }

// One behind the other.
void place_from(FileLayout& layout, Bytes header_bytes) {
  layout.header_bytes = header_bytes;
  Bytes at = header_bytes;
  for (VariableLayout& variable : layout.variables) {
    Bytes bytes = mesh::size_of(variable.external);
    bool fits = true;
    for (const std::uint64_t length : variable.shape) fits = fits && !__builtin_mul_overflow(bytes, length, &bytes);
    if (!fits || bytes > placed_all_most || at > placed_all_most - bytes) {
      throw base::Error(base::Errc::invalid_argument, "'" + variable.name + "' is larger than any file");
    }
    variable.begin_bytes = base::align_up(at, placed_alignment(bytes));
    at = variable.begin_bytes + bytes;
  }
}

std::vector<std::byte> metadata_of(const MemoryDriver& driver, const FileLayout& layout,
                                   const std::function<void(const PlacedFile&)>& define) {
  MetadataFile memory;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, making), creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, making);
  driver.use(access.id(), memory);
  check(H5Pset_libver_bounds(access.id(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), making);
  check(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), making);
  check(H5Pset_obj_track_times(creation.id(), false), making);
  Handle file(H5Fcreate("glean", H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose, making);
  define(PlacedFile(file.id(), memory, layout));
  file.close(making);
  return memory.metadata();
}

Handle space_of(const std::vector<hsize_t>& shape, const std::string& what) {
  return {shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose, what};
}

// Contiguous, not filled, and at its place at once.
Handle contiguous(const std::string& what) {
  Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what);
  check(H5Pset_obj_track_times(list.id(), false), what);
  check(H5Pset_layout(list.id(), H5D_CONTIGUOUS), what);
  check(H5Pset_fill_time(list.id(), H5D_FILL_TIME_NEVER), what);
  check(H5Pset_alloc_time(list.id(), H5D_ALLOC_TIME_EARLY), what);
  return list;
}

}  // namespace

void PlacedFile::group(const std::string& path) const {
  const std::string what = "cannot make the group '" + path + "'";
  const Handle list(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, what);
  check(H5Pset_obj_track_times(list.id(), false), what);
  const Handle made(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, list.id(), H5P_DEFAULT), H5Gclose, what);
}

void PlacedFile::table(const std::string& path, hid_t file_type, const std::vector<hsize_t>& shape, hid_t memory_type,
                       const void* values) const {
  const std::string what = "cannot make the dataset '" + path + "'";
  const Handle space = space_of(shape, what), list = contiguous(what);
  const Handle dataset(H5Dcreate2(file_, path.c_str(), file_type, space.id(), H5P_DEFAULT, list.id(), H5P_DEFAULT), H5Dclose, what);
  for (const hsize_t length : shape) {
    if (length == 0) return;
  }
  check(H5Dwrite(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), what);
}

void PlacedFile::data(const std::string& path, std::size_t variable) const {
  const std::string what = "cannot make the dataset '" + path + "'";
  const VariableLayout& layout = layout_.variables.at(variable);
  const Handle type = hdf5_element_type(layout.external, what), list = contiguous(what);
  const Handle space = space_of({layout.shape.begin(), layout.shape.end()}, what);
  metadata_.expect_data({layout.begin_bytes, layout.begin_bytes + layout.record_bytes()});
  const Handle dataset(H5Dcreate2(file_, path.c_str(), type.id(), space.id(), H5P_DEFAULT, list.id(), H5P_DEFAULT), H5Dclose, what);
  if (!metadata_.has_been_taken()) throw base::Error(base::Errc::io, what + ": HDF5 has not allocated its data at once");
}

Handle PlacedFile::object(const std::string& path, const std::string& what) const {
  return {H5Oopen(file_, path.empty() ? "/" : path.c_str(), H5P_DEFAULT), H5Oclose, what};
}

void PlacedFile::attribute(const std::string& path, const std::string& name, hid_t file_type, const std::vector<hsize_t>& shape,
                           hid_t memory_type, const void* values) const {
  const std::string what = "cannot define attribute '" + name + "' of '" + path + "'";
  const Handle on = object(path, what), space = space_of(shape, what);
  const Handle made(H5Acreate2(on.id(), name.c_str(), file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, what);
  check(H5Awrite(made.id(), memory_type, values), what);
}

void PlacedFile::attribute(const std::string& path, const mesh::Attribute& attribute) const {
  const std::string what = "cannot define attribute '" + attribute.name + "' of '" + path + "'";
  const Handle on = object(path, what);
  write_hdf5_attribute(on.id(), attribute.name, attribute, what);
}

void PlacedFile::text(const std::string& path, const std::string& name, const std::string& value) const {
  const Handle type = hdf5_text_type(value.size(), true, "cannot define attribute '" + name + "' of '" + path + "'");
  attribute(path, name, type.id(), {}, type.id(), value.data());
}

FileImage make_placed_image(FileLayout layout, const std::function<void(const PlacedFile&)>& define) {
  require_hdf5_of_headers();
  const QuietErrors quiet;
  const MemoryDriver driver;
  Bytes alignment = 8;
  for (VariableLayout& variable : layout.variables) {
    variable.stored.order = ByteOrder::little;
    variable.record_stride_bytes = 0;
  }
  // How long the metadata are does not depend on where the data lie.
  place_from(layout, somewhere_behind);
  for (const VariableLayout& variable : layout.variables) alignment = std::max(alignment, placed_alignment(variable.record_bytes()));
  const Bytes header_bytes = base::align_up(metadata_of(driver, layout, define).size(), alignment);
  place_from(layout, header_bytes);
  std::vector<std::byte> metadata = metadata_of(driver, layout, define);
  if (base::align_up(metadata.size(), alignment) != header_bytes)
    throw base::Error(base::Errc::io, std::string(making) + ": its size changes");

  FileImage image{std::move(layout), {}};
  const Bytes end = whole_size(image.layout, 0);
  std::memcpy(metadata.data() + end_offset(metadata), &end, sizeof end);
  image.metadata.push_back({0, std::move(metadata)});
  return image;
}

Bytes placed_file_bytes(const FileImage& image) { return whole_size(image.layout, 0); }

void require_hdf5_of_headers() {
  unsigned major = 0, minor = 0, release = 0;
  check(H5get_libversion(&major, &minor, &release), making);
  if (major == H5_VERS_MAJOR && minor == H5_VERS_MINOR && release == H5_VERS_RELEASE) return;
  const auto text = [](unsigned a, unsigned b, unsigned c) {
    return std::to_string(a) + '.' + std::to_string(b) + '.' + std::to_string(c);
  };
  throw base::Error(base::Errc::unsupported,
                    "HDF5 files cannot be written or read: this process has HDF5 " + text(major, minor, release) +
                        ", and GLEAN was built with " + text(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE),
                    "let both be the same, or of different names");
}

}  // namespace glean::store
