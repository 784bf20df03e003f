// SPDX-License-Identifier: BSD-3-Clause
//
// Plain system calls, which a thread may make beside MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "writer.hpp"

namespace nekcem {

// A file of a known size that one or several processes write. Throws std::runtime_error with the name of the file.
class PosixFile {
 public:
  PosixFile(const std::string& path, std::int64_t bytes);
  ~PosixFile();
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  PosixFile& write(std::span<const Extent> extents, std::span<const std::byte> buffer);
  void close(Durability durability);

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int descriptor_;
};

}  // namespace nekcem
