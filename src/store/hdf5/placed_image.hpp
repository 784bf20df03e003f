// SPDX-License-Identifier: BSD-3-Clause
//
// An HDF5 file of a layout that others have fixed: the library makes its groups, attributes and small datasets in memory, and the large
// datasets lie behind them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/format/file_image.hpp"
#include "store/hdf5/library.hpp"
#include "store/hdf5/memory_driver.hpp"

namespace glean::store {

// The file while it is defined. Names of groups are paths from the root, without a slash in front; "": the root.
class PlacedFile {
 public:
  PlacedFile(hid_t file, MetadataFile& metadata, const FileLayout& layout) : file_(file), metadata_(metadata), layout_(layout) {}

  void group(const std::string& path) const;
  // A small dataset with its values, which are as `memory_type` says. Contiguous.
  void table(const std::string& path, hid_t file_type, const std::vector<hsize_t>& shape, hid_t memory_type, const void* values) const;
  // The dataset of `layout.variables[variable]`: of its type and shape, at its place, without values.
  void data(const std::string& path, std::size_t variable) const;
  // Of a group or dataset. `text`: ASCII of fixed length, the only kind that all readers of VTKHDF take.
  void attribute(const std::string& path, const std::string& name, hid_t file_type, const std::vector<hsize_t>& shape, hid_t memory_type,
                 const void* values) const;
  void attribute(const std::string& path, const mesh::Attribute& attribute) const;
  void text(const std::string& path, const std::string& name, const std::string& value) const;

 private:
  [[nodiscard]] Handle object(const std::string& path, const std::string& what) const;

  hid_t file_;
  MetadataFile& metadata_;
  const FileLayout& layout_;
};

// `layout`: name of the format, and of each variable name, type and shape, which have elements; the rest is set here. `define` is called
// twice, and does the same both times. The bytes depend on what it does and on the version of the library only. Throws with HDF5's
// message; as make_hdf5_image(). Local; of one thread at a time.
[[nodiscard]] FileImage make_placed_image(FileLayout layout, const std::function<void(const PlacedFile&)>& define);

// How long a file of such an image is.
[[nodiscard]] Bytes placed_file_bytes(const FileImage& image);

// HDF5 itself would end the process where it is of another version than the one that this was built with. Throws unsupported.
void require_hdf5_of_headers();

}  // namespace glean::store
