// SPDX-License-Identifier: BSD-3-Clause
#include "original_file.hpp"

#include "datatype_copy.hpp"
#include "failure.hpp"

namespace glean::mpiio {

void OriginalFile::open(MPI_Comm comm, const std::string& path, int amode, const Hints& hints) {
  if (handle_ != MPI_FILE_NULL) return;
  MPI_Info info = hints.make_info();
  const int code = PMPI_File_open(comm, path.c_str(), amode, info, &handle_);
  PMPI_Info_free(&info);
  succeeded(code);
  PMPI_File_set_errhandler(handle_, MPI_ERRORS_RETURN);
}

void OriginalFile::take_view(StandInHandle& of, std::uint64_t version) {
  if (version == view_version_) return;
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
  char representation[MPI_MAX_DATAREP_STRING + 1] = {};
  succeeded(PMPI_File_get_view(of.file_with_view(), &displacement, &etype, &filetype, representation));
  const int code = PMPI_File_set_view(handle_, displacement, etype, filetype, representation, MPI_INFO_NULL);
  release(etype);
  release(filetype);
  succeeded(code);
  view_version_ = version;
}

void OriginalFile::close() {
  if (handle_ != MPI_FILE_NULL) PMPI_File_close(&handle_);
  handle_ = MPI_FILE_NULL;
  view_version_ = 0;
}

}  // namespace glean::mpiio
