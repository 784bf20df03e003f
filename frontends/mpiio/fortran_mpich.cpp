// SPDX-License-Identifier: BSD-3-Clause
//
// MPI-IO of Fortran programs with MPICH. Its Fortran calls the C names, but for functions of `use mpi_f08` that have no buffer:
// those go to the profiling names. Here they go to the ones of mpif.h, which take the same arguments.
#include <mpi.h>

#ifndef OPEN_MPI

#include "calls.hpp"

// One function: its name, its parameters without the error, and its arguments.
#define GLEAN_F08(name, parameters, ...)                                                       \
  extern "C" {                                                                                 \
  [[gnu::weak]] void mpi_##name##_(GLEAN_LIST parameters, void* error);                        \
  [[gnu::visibility("default")]] void mpi_##name##_f08_(GLEAN_LIST parameters, void* error) {  \
    MPI_Fint ignored = 0;                                                                      \
    mpi_##name##_(__VA_ARGS__, error != nullptr ? error : &ignored);                           \
  }                                                                                            \
  }
#define GLEAN_LIST(...) __VA_ARGS__
#define GLEAN_F08_1(name) GLEAN_F08(file_##name, (void* a), a)
#define GLEAN_F08_2(name) GLEAN_F08(file_##name, (void* a, void* b), a, b)
#define GLEAN_F08_3(name) GLEAN_F08(file_##name, (void* a, void* b, void* c), a, b, c)

// The calls of calls.hpp: the handle, and what follows it there.
#define GLEAN_NUMBER(unused_1, unused_2, unused_3, n, ...) n
#define GLEAN_F08_CALL(name, parameters, ...) GLEAN_F08_WITH(GLEAN_NUMBER(fh __VA_OPT__(, ) __VA_ARGS__, 3, 2, 1, ), name)
#define GLEAN_F08_WITH(n, name) GLEAN_F08_OF(n, name)
#define GLEAN_F08_OF(n, name) GLEAN_F08_##n(name)
GLEAN_MPIIO_PLAIN_CONTROL_CALLS(GLEAN_F08_CALL)
GLEAN_MPIIO_TYPE_CALLS(GLEAN_F08_CALL)
GLEAN_F08_CALL(close, (MPI_File* fh))
GLEAN_F08(init_thread, (void* a, void* b), a, b)
GLEAN_F08(barrier, (void* comm), comm)

// Those without arguments but the error, and those with strings, whose lengths come last.
extern "C" {

#define GLEAN_F08_PLAIN(name)                                                 \
  [[gnu::weak]] void mpi_##name##_(void* error);                              \
  [[gnu::visibility("default")]] void mpi_##name##_f08_(void* error) {        \
    MPI_Fint ignored = 0;                                                     \
    mpi_##name##_(error != nullptr ? error : &ignored);                       \
  }
GLEAN_F08_PLAIN(init)
GLEAN_F08_PLAIN(finalize)

#define GLEAN_F08_STRING(name, parameters, ...)                                                              \
  [[gnu::weak]] void mpi_##name##_(GLEAN_LIST parameters, void* error, long length);                         \
  [[gnu::visibility("default")]] void mpi_##name##_f08_(GLEAN_LIST parameters, void* error, long length) {   \
    MPI_Fint ignored = 0;                                                                                    \
    mpi_##name##_(__VA_ARGS__, error != nullptr ? error : &ignored, length);                                 \
  }
GLEAN_F08_STRING(file_open, (void* comm, void* name, void* amode, void* info, void* file), comm, name, amode, info, file)
GLEAN_F08_STRING(file_delete, (void* name, void* info), name, info)
GLEAN_F08_STRING(file_set_view, (void* file, void* disp, void* etype, void* filetype, void* datarep, void* info), file, disp, etype,
                 filetype, datarep, info)
GLEAN_F08_STRING(file_get_view, (void* file, void* disp, void* etype, void* filetype, void* datarep), file, disp, etype, filetype,
                 datarep)

}  // extern "C"

#endif
