// SPDX-License-Identifier: BSD-3-Clause
//
// A virtual file driver of HDF5 for files to read: the bytes come from a function of the caller. The library takes no lock on such a file,
// and opens no other.
#pragma once

#include <hdf5.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "store/hdf5/library.hpp"

namespace glean::store {

using base::Bytes;

struct Hdf5Source {
  Bytes bytes = 0;
  // What lies in the file. Returns whether it could be read.
  std::function<bool(std::span<std::byte> into, Bytes offset)> read;
};

// A file that is open in the library, for as long as it lives. Of one thread at a time.
class Hdf5Input {
 public:
  // Throws invalid_argument with HDF5's message where it is damaged, or shorter than it says that it is.
  explicit Hdf5Input(Hdf5Source source);
  ~Hdf5Input();
  Hdf5Input(const Hdf5Input&) = delete;
  Hdf5Input& operator=(const Hdf5Input&) = delete;

  [[nodiscard]] hid_t id() const { return file_->id(); }
  [[nodiscard]] const Hdf5Source& source() const { return source_; }
  [[nodiscard]] Bytes end() const { return end_; }   // as the file says

  // For the driver. What is near to what was read last comes from memory.
  [[nodiscard]] bool read(std::span<std::byte> into, Bytes offset);
  void set_end(Bytes end) { end_ = end; }

 private:
  QuietErrors quiet_;
  Hdf5Source source_;
  Bytes end_ = 0;
  std::vector<std::byte> window_;
  Bytes window_begin_ = 0;
  hid_t driver_ = -1;
  std::optional<Handle> file_;
};

}  // namespace glean::store
