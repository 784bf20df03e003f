// SPDX-License-Identifier: BSD-3-Clause
//
// Which MPI the program has. This library is made for one; with another one its calls go on to the program's, untouched.
#pragma once

#include <string>

namespace glean::mpiio {

// The MPI library that the program's calls reach is another one than this library was built with. Local, asks once.
[[nodiscard]] bool is_other_mpi();
// "Open MPI v4.1.4": the program's. Local.
[[nodiscard]] std::string program_mpi();
// The name and version of the MPI that this library was built with.
[[nodiscard]] std::string built_with_mpi();

// The next definition of a name after this library's; nullptr: none. Local.
[[nodiscard]] void* next_symbol(const char* name);

// What a Fortran call goes to when the program has another MPI; nullptr: it has the right one.
template <class... Parameters>
[[nodiscard]] auto fortran_original(const char* name) -> void (*)(Parameters...) {
  return is_other_mpi() ? reinterpret_cast<void (*)(Parameters...)>(next_symbol(name)) : nullptr;
}

}  // namespace glean::mpiio
