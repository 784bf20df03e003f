// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that the program finds instead of MPI's.
#include <atomic>

#include "base/log.hpp"
#include "call.hpp"
#include "opening.hpp"

namespace glean::mpiio {
namespace {

// A call on an open file: `captured(file)` or `original(handle)`.
template <class Captured, class Original>
int on_file(MPI_File fh, Call which, Captured captured, Original original) noexcept {
  const Session::Handle& handle = Session::find(fh);
  if (!handle.captured) {
    Session::passed_through().count(which);
    if (const auto watched = handle.watched) {
      const Stopwatch stopwatch(watched->blocked_ns);
      return original(fh);
    }
    return original(fh);
  }
  const auto file = handle.captured;   // the program's error handler may close it
  const MPI_File aside = which == Call::get_amode ? MPI_FILE_NULL : file->stepped_aside();   // opened with another one
  (aside != MPI_FILE_NULL ? Session::passed_through() : Session::captured()).count(which);
  return call(*file, [&] {
    if (aside == MPI_FILE_NULL) return captured(*file);
    succeeded(original(aside));
    if (which == Call::sync) file->was_synchronized_aside();
  });
}

}  // namespace
}  // namespace glean::mpiio

using glean::mpiio::Call;
using glean::mpiio::CapturedFile;
using glean::mpiio::Session;

// MPICH's mpi.h does not say that they are seen from outside.
#pragma GCC visibility push(default)
extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) Session::begin();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) Session::begin();
  return code;
}

int MPI_Abort(MPI_Comm comm, int code) {
  Session::wait_for_files();
  return PMPI_Abort(comm, code);
}

int MPI_Barrier(MPI_Comm comm) { return Session::barrier(comm); }

// Programs that are connected see what the other has closed.
int MPI_Comm_spawn(const char* command, char* argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* children, int errors[]) {
  const int code = PMPI_Comm_spawn(command, argv, most, info, root, comm, children, errors);
  Session::is_connected();
  return code;
}

int MPI_Comm_spawn_multiple(int count, char* commands[], char** argv[], const int most[], const MPI_Info infos[], int root, MPI_Comm comm,
                            MPI_Comm* children, int errors[]) {
  const int code = PMPI_Comm_spawn_multiple(count, commands, argv, most, infos, root, comm, children, errors);
  Session::is_connected();
  return code;
}

int MPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* others) {
  const int code = PMPI_Comm_accept(port, info, root, comm, others);
  Session::is_connected();
  return code;
}

int MPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* others) {
  const int code = PMPI_Comm_connect(port, info, root, comm, others);
  Session::is_connected();
  return code;
}

int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  return glean::mpiio::open_file(comm, filename, amode, info, fh);
}

int MPI_File_close(MPI_File* fh) { return glean::mpiio::close_file(fh); }

int MPI_File_delete(const char* filename, MPI_Info info) { return glean::mpiio::delete_file(filename, info); }

#define GLEAN_MPIIO_DEFINE(name, suffix, parameters, ...)                                          \
  int MPI_File_##name##suffix parameters {                                                         \
    return glean::mpiio::on_file(                                                                  \
        fh, Call::name, [&](CapturedFile& file) { file.name(fh __VA_OPT__(, ) __VA_ARGS__); },     \
        [&](MPI_File handle) { return PMPI_File_##name##suffix(handle __VA_OPT__(, ) __VA_ARGS__); }); \
  }

#define GLEAN_MPIIO_WRAPPER(name, parameters, ...) GLEAN_MPIIO_DEFINE(name, , parameters __VA_OPT__(, ) __VA_ARGS__)
#define GLEAN_COUNT int
#define GLEAN_EXTENT MPI_Aint
GLEAN_MPIIO_CALLS(GLEAN_MPIIO_WRAPPER)
#undef GLEAN_COUNT
#undef GLEAN_EXTENT

#if MPI_VERSION >= 4
#define GLEAN_MPIIO_LARGE_WRAPPER(name, parameters, ...) GLEAN_MPIIO_DEFINE(name, _c, parameters __VA_OPT__(, ) __VA_ARGS__)
#define GLEAN_COUNT MPI_Count
GLEAN_MPIIO_DATA_CALLS(GLEAN_MPIIO_LARGE_WRAPPER)

int MPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) {
  return glean::mpiio::on_file(
      fh, Call::get_type_extent, [&](CapturedFile& file) { file.get_type_extent_c(fh, datatype, extent); },
      [&](MPI_File handle) { return PMPI_File_get_type_extent_c(handle, datatype, extent); });
}
#endif

}  // extern "C"
#pragma GCC visibility pop
