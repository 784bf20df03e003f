// SPDX-License-Identifier: BSD-3-Clause
#include "program_mpi.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <string_view>

namespace glean::mpiio {
namespace {

// The first words of the first line: what it is and its version.
std::string version_of(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(",\n")));
}

}  // namespace

std::string program_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 8192> text{};   // of another MPI it may be longer
  int length = 0;
  // Allowed before MPI_Init, and the same in every MPI.
  return PMPI_Get_library_version(text.data(), &length) == 0 ? version_of(text.data()) : std::string();
}

std::string built_with_mpi() {
#ifdef OPEN_MPI
  return "Open MPI v" + std::to_string(OMPI_MAJOR_VERSION) + "." + std::to_string(OMPI_MINOR_VERSION) + "." +
         std::to_string(OMPI_RELEASE_VERSION);
#else
  return "MPICH " MPICH_VERSION;
#endif
}

bool is_other_mpi() {
  static const bool other = [] {
    const std::string found = program_mpi();
#ifdef OPEN_MPI
    return !found.starts_with("Open MPI");
#else
    return found.starts_with("Open MPI");
#endif
  }();
  return other;
}

void* next_symbol(const char* name) { return dlsym(RTLD_NEXT, name); }

}  // namespace glean::mpiio
