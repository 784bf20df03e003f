// SPDX-License-Identifier: BSD-3-Clause
//
// Which files are captured, and how they are opened.
#pragma once

#include <mpi.h>

namespace glean::mpiio {

// MPI_File_open, MPI_File_close and MPI_File_delete, as the program calls them. Return error codes; no exception leaves them.
int open_file(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) noexcept;
int close_file(MPI_File* fh) noexcept;
int delete_file(const char* filename, MPI_Info info) noexcept;

}  // namespace glean::mpiio
