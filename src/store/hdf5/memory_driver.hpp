// SPDX-License-Identifier: BSD-3-Clause
//
// A virtual file driver of HDF5 whose files are memory of this process and have no data: the library makes the metadata, one thing behind
// the other from the beginning of the file on, and the data get the addresses that the caller gives.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "base/bytes.hpp"

namespace glean::store {

using base::Bytes;

// What is behind an open file; it must live as long. Of one thread.
class MetadataFile {
 public:
  // The next that the library wants to have allocated for data lies here.
  void expect_data(base::Extent extent) { expected_ = extent; }
  [[nodiscard]] bool has_been_taken() const { return !expected_; }

  [[nodiscard]] const std::vector<std::byte>& metadata() const { return metadata_; }

  // For the driver.
  [[nodiscard]] std::optional<Bytes> allocate_data(Bytes bytes);   // nothing: not what was expected
  [[nodiscard]] Bytes allocate_metadata(Bytes bytes);
  void reserve(Bytes end);
  [[nodiscard]] Bytes end() const { return end_; }
  // What lies behind the metadata is dropped.
  void write(Bytes offset, const std::byte* bytes, std::size_t size);
  void read(Bytes offset, std::byte* bytes, std::size_t size) const;   // zeros where there is no metadata

 private:
  std::vector<std::byte> metadata_;
  std::optional<base::Extent> expected_;
  Bytes end_ = 0;
};

// The driver, as long as this lives.
class MemoryDriver {
 public:
  MemoryDriver();
  ~MemoryDriver();
  MemoryDriver(const MemoryDriver&) = delete;
  MemoryDriver& operator=(const MemoryDriver&) = delete;

  // What is opened with this property list, whatever its name, is `file`.
  void use(hid_t file_access, MetadataFile& file) const;

 private:
  hid_t id_;
};

}  // namespace glean::store
