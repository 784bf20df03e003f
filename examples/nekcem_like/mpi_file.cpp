// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_file.hpp"

#include <stdexcept>

namespace nekcem {

MpiFile::MpiFile(MPI_Comm comm, const std::string& path, std::int64_t bytes) : path_(path) {
  require(MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file_), "cannot create ");
  require(MPI_File_set_size(file_, bytes), "cannot size ");
}

void MpiFile::write_all(std::span<const Extent> extents, std::span<const std::byte> buffer) {
  for (const Extent& extent : extents) {
    const std::byte* from = buffer.data() + extent.buffer_offset;
    require(MPI_File_write_at_all_begin(file_, extent.file_offset, from, static_cast<int>(extent.bytes), MPI_BYTE), "cannot write ");
    require(MPI_File_write_at_all_end(file_, from, MPI_STATUS_IGNORE), "cannot write ");
  }
}

void MpiFile::close(Durability durability) {
  if (durability == Durability::fsync) require(MPI_File_sync(file_), "cannot fsync ");
  require(MPI_File_close(&file_), "cannot close ");
}

void MpiFile::require(int status, const char* what) const {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(what + path_ + ": " + std::string(text, static_cast<std::size_t>(length)));
}

}  // namespace nekcem
