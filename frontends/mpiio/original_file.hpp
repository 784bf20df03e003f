// SPDX-License-Identifier: BSD-3-Clause
//
// A handle of the MPI library's on the file that captured bytes go to.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "hints.hpp"
#include "stand_in_handle.hpp"

namespace glean::mpiio {

// A call of the MPI library that moves data, and what it takes for a count.
#if MPI_VERSION >= 4
#define GLEAN_MPIIO_ORIGINAL(name) PMPI_File_##name##_c
using OriginalCount = MPI_Count;
#else
#define GLEAN_MPIIO_ORIGINAL(name) PMPI_File_##name
using OriginalCount = int;
#endif

class OriginalFile {
 public:
  OriginalFile() = default;
  // Without close() the handle is left to the MPI library.
  ~OriginalFile() = default;
  OriginalFile(const OriginalFile&) = delete;
  OriginalFile& operator=(const OriginalFile&) = delete;
  OriginalFile(OriginalFile&&) = default;
  OriginalFile& operator=(OriginalFile&&) = default;

  [[nodiscard]] MPI_File handle() const { return handle_; }
  // Opens it unless it is open. Its error handler is MPI_ERRORS_RETURN. Throws CallFailed. Collective over `comm`.
  void open(MPI_Comm comm, const std::string& path, int amode, const Hints& hints);
  // Gives it the view of another handle, unless it has that version of it already. Throws CallFailed. Collective.
  void take_view(StandInHandle& of, std::uint64_t version);
  // Collective.
  void close();

 private:
  MPI_File handle_ = MPI_FILE_NULL;
  std::uint64_t view_version_ = 0;
};

}  // namespace glean::mpiio
