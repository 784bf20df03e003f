// SPDX-License-Identifier: BSD-3-Clause
//
// MPI-IO of Fortran programs. Open MPI's Fortran calls go to the profiling names of its C functions, past whatever is loaded
// before it; so they are defined here too, and go to the C names.
//
// Programs with mpif.h and `use mpi` call mpi_file_write_at_ (or what their compiler makes of it), those with `use mpi_f08` a
// function of Open MPI that calls ompi_file_write_at_f. Both take the same arguments. Open MPI 6 does so for all but data calls.
//
// Not here: what no wrapper in C is needed for, such as error handlers and data representations, which are functions in the
// program's language.
//
// Of MPICH: fortran_mpich.cpp.
#include <mpi.h>

#ifdef OPEN_MPI

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <string>

#include "base/log.hpp"
#include "calls.hpp"
#include "fortran_arguments.hpp"
#include "program_mpi.hpp"

using glean::mpiio::Argument;
using glean::mpiio::call_from_fortran;
using glean::mpiio::fortran_original;
using glean::mpiio::string_from_fortran;
using glean::mpiio::string_to_fortran;

// All names of one function of MPI; its own without "MPI_", in lower case.
#define GLEAN_FORTRAN_NAMES(name, ...)                                                               \
  extern "C" {                                                                                       \
  [[gnu::visibility("default")]] void ompi_##name##_f(__VA_ARGS__);                                  \
  [[gnu::visibility("default"), gnu::alias("ompi_" #name "_f")]] void mpi_##name(__VA_ARGS__);       \
  [[gnu::visibility("default"), gnu::alias("ompi_" #name "_f")]] void mpi_##name##_(__VA_ARGS__);    \
  [[gnu::visibility("default"), gnu::alias("ompi_" #name "_f")]] void mpi_##name##__(__VA_ARGS__);   \
  }

// One of n arguments, the error not counted, that all mean what mpi.h says.
#define GLEAN_FORTRAN_OF(n, name)                                                                      \
  GLEAN_FORTRAN_NAMES(file_##name, GLEAN_PARAMETERS_##n, void* error)                                  \
  void ompi_file_##name##_f(GLEAN_PARAMETERS_##n, void* error) {                                       \
    static const auto original = fortran_original<GLEAN_TYPES_##n, void*>("mpi_file_" #name "_");      \
    if (original != nullptr) return original(GLEAN_ARGUMENTS_##n, error);                              \
    call_from_fortran(&MPI_File_##name, error, GLEAN_ARGUMENTS_##n);                                   \
  }
#define GLEAN_PARAMETERS_1 void *a
#define GLEAN_PARAMETERS_2 GLEAN_PARAMETERS_1, void *b
#define GLEAN_PARAMETERS_3 GLEAN_PARAMETERS_2, void *c
#define GLEAN_PARAMETERS_4 GLEAN_PARAMETERS_3, void *d
#define GLEAN_PARAMETERS_5 GLEAN_PARAMETERS_4, void *e
#define GLEAN_PARAMETERS_6 GLEAN_PARAMETERS_5, void *f
#define GLEAN_ARGUMENTS_1 a
#define GLEAN_ARGUMENTS_2 GLEAN_ARGUMENTS_1, b
#define GLEAN_ARGUMENTS_3 GLEAN_ARGUMENTS_2, c
#define GLEAN_ARGUMENTS_4 GLEAN_ARGUMENTS_3, d
#define GLEAN_ARGUMENTS_5 GLEAN_ARGUMENTS_4, e
#define GLEAN_ARGUMENTS_6 GLEAN_ARGUMENTS_5, f
#define GLEAN_TYPES_1 void*
#define GLEAN_TYPES_2 GLEAN_TYPES_1, void*
#define GLEAN_TYPES_3 GLEAN_TYPES_2, void*
#define GLEAN_TYPES_4 GLEAN_TYPES_3, void*
#define GLEAN_TYPES_5 GLEAN_TYPES_4, void*
#define GLEAN_TYPES_6 GLEAN_TYPES_5, void*

// The calls of calls.hpp: the handle, and what follows it there.
#define GLEAN_NUMBER(unused_1, unused_2, unused_3, unused_4, unused_5, unused_6, n, ...) n
#define GLEAN_FORTRAN(name, parameters, ...) \
  GLEAN_FORTRAN_WITH(GLEAN_NUMBER(fh __VA_OPT__(, ) __VA_ARGS__, 6, 5, 4, 3, 2, 1, ), name)
#define GLEAN_FORTRAN_WITH(n, name) GLEAN_FORTRAN_OF(n, name)
GLEAN_MPIIO_DATA_CALLS(GLEAN_FORTRAN)
GLEAN_MPIIO_END_CALLS(GLEAN_FORTRAN)
GLEAN_MPIIO_TYPE_CALLS(GLEAN_FORTRAN)
GLEAN_MPIIO_PLAIN_CONTROL_CALLS(GLEAN_FORTRAN)
GLEAN_FORTRAN(close, (MPI_File* fh))

// Those of `use mpi_f08` that take a logical go to the profiling name as well.
extern "C" {
[[gnu::visibility("default"), gnu::alias("ompi_file_set_atomicity_f")]] void mpi_file_set_atomicity_f08_(void*, void*, void*);
[[gnu::visibility("default"), gnu::alias("ompi_file_get_atomicity_f")]] void mpi_file_get_atomicity_f08_(void*, void*, void*);
}

// Those with strings, whose lengths come last, and those whose arguments in C are others.

namespace {

void file_open(decltype(&MPI_File_open) open, void* comm, char* name, void* amode, void* info, void* file, void* error, int length) {
  Argument<MPI_File*> opened(file, Argument<MPI_File*>::Before::undefined);
  const int result = open(Argument<MPI_Comm>(comm), string_from_fortran(name, length).c_str(), Argument<int>(amode),
                          Argument<MPI_Info>(info), opened);
  if (result == MPI_SUCCESS) opened.finish();
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

// Open MPI 6 has data calls of `use mpi_f08` that go to the profiling names in C, and only those.
bool f08_data_calls_are_unseen() {
  static const bool are_there = dlsym(RTLD_DEFAULT, "mpi_file_write_at_f08ts_") != nullptr;
  return are_there;
}

}  // namespace

extern "C" {
#define GLEAN_FILE_OPEN (void* comm, char* name, void* amode, void* info, void* file, void* error, int length)
[[gnu::visibility("default")]] void mpi_file_open_ GLEAN_FILE_OPEN;
[[gnu::visibility("default"), gnu::alias("mpi_file_open_")]] void mpi_file_open GLEAN_FILE_OPEN;
[[gnu::visibility("default"), gnu::alias("mpi_file_open_")]] void mpi_file_open__ GLEAN_FILE_OPEN;
[[gnu::visibility("default")]] void ompi_file_open_f GLEAN_FILE_OPEN;   // of `use mpi_f08`

void mpi_file_open_ GLEAN_FILE_OPEN {
  static const auto original = fortran_original<void*, char*, void*, void*, void*, void*, long>("mpi_file_open_");
  if (original != nullptr) return original(comm, name, amode, info, file, error, length);
  file_open(&MPI_File_open, comm, name, amode, info, file, error, length);
}

void ompi_file_open_f GLEAN_FILE_OPEN {
  if (!f08_data_calls_are_unseen()) return mpi_file_open_(comm, name, amode, info, file, error, length);
  static std::atomic<bool> is_said = false;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && !is_said.exchange(true)) {
    glean::base::log(glean::base::LogLevel::warning, "files that are opened with `use mpi_f08` pass through: the data calls that "
                     "this MPI has for it cannot be captured, those of `use mpi` and mpif.h can");
  }
  file_open(&PMPI_File_open, comm, name, amode, info, file, error, length);
}
}

GLEAN_FORTRAN_NAMES(file_delete, char* name, void* info, void* error, int length)
void ompi_file_delete_f(char* name, void* info, void* error, int length) {
  static const auto original = fortran_original<char*, void*, void*, long>("mpi_file_delete_");
  if (original != nullptr) return original(name, info, error, length);
  const int result = MPI_File_delete(string_from_fortran(name, length).c_str(), Argument<MPI_Info>(info));
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(file_set_view, void* file, void* displacement, void* element_type, void* file_type, char* datarep,
                    void* info, void* error, int length)
void ompi_file_set_view_f(void* file, void* displacement, void* element_type, void* file_type, char* datarep, void* info, void* error,
                          int length) {
  static const auto original = fortran_original<void*, void*, void*, void*, char*, void*, void*, long>("mpi_file_set_view_");
  if (original != nullptr) return original(file, displacement, element_type, file_type, datarep, info, error, length);
  const int result = MPI_File_set_view(Argument<MPI_File>(file), Argument<MPI_Offset>(displacement), Argument<MPI_Datatype>(element_type),
                                       Argument<MPI_Datatype>(file_type), string_from_fortran(datarep, length).c_str(),
                                       Argument<MPI_Info>(info));
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(file_get_view, void* file, void* displacement, void* element_type, void* file_type, char* datarep,
                    void* error, int length)
void ompi_file_get_view_f(void* file, void* displacement, void* element_type, void* file_type, char* datarep, void* error, int length) {
  static const auto original = fortran_original<void*, void*, void*, void*, char*, void*, long>("mpi_file_get_view_");
  if (original != nullptr) return original(file, displacement, element_type, file_type, datarep, error, length);
  Argument<MPI_Datatype*> elements(element_type);
  Argument<MPI_Datatype*> files(file_type);
  std::array<char, MPI_MAX_DATAREP_STRING + 1> text{};
  const int result = MPI_File_get_view(Argument<MPI_File>(file), Argument<MPI_Offset*>(displacement), elements, files, text.data());
  if (result == MPI_SUCCESS) {
    elements.finish();
    files.finish();
    string_to_fortran(text.data(), datarep, length);
  }
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(init, void* error)
void ompi_init_f(void* error) {
  static const auto original = fortran_original<void*>("mpi_init_");
  if (original != nullptr) return original(error);
  const int result = MPI_Init(nullptr, nullptr);
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(init_thread, void* required, void* provided, void* error)
void ompi_init_thread_f(void* required, void* provided, void* error) {
  static const auto original = fortran_original<void*, void*, void*>("mpi_init_thread_");
  if (original != nullptr) return original(required, provided, error);
  const int result = MPI_Init_thread(nullptr, nullptr, Argument<int>(required), Argument<int*>(provided));
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(abort, void* comm, void* code, void* error)
void ompi_abort_f(void* comm, void* code, void* error) {
  static const auto original = fortran_original<void*, void*, void*>("mpi_abort_");
  if (original != nullptr) return original(comm, code, error);
  const int result = MPI_Abort(Argument<MPI_Comm>(comm), Argument<int>(code));
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(barrier, void* comm, void* error)
void ompi_barrier_f(void* comm, void* error) {
  static const auto original = fortran_original<void*, void*>("mpi_barrier_");
  if (original != nullptr) return original(comm, error);
  const int result = MPI_Barrier(Argument<MPI_Comm>(comm));
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

GLEAN_FORTRAN_NAMES(finalize, void* error)
void ompi_finalize_f(void* error) {
  static const auto original = fortran_original<void*>("mpi_finalize_");
  if (original != nullptr) return original(error);
  const int result = MPI_Finalize();
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

#endif
