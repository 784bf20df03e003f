// SPDX-License-Identifier: BSD-3-Clause
//
// MPI-IO with errors that are exceptions.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "writer.hpp"

namespace nekcem {

// A file that all ranks of `comm` write together. All functions are collective over it, block, and throw std::runtime_error.
class MpiFile {
 public:
  // Replaces a file of that name. `bytes` is its final size.
  MpiFile(MPI_Comm comm, const std::string& path, std::int64_t bytes);
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;

  // One collective call per extent; all ranks have the same number of extents.
  void write_all(std::span<const Extent> extents, std::span<const std::byte> buffer);
  void close(Durability durability);

 private:
  void require(int status, const char* what) const;

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace nekcem
