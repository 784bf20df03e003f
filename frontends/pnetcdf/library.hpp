// SPDX-License-Identifier: BSD-3-Clause
//
// The PnetCDF library of the program.
#pragma once

#include <pnetcdf.h>

namespace glean::pnetcdf {

// Its function of that name: the next definition after this library's, or that of a library that only a plug-in has loaded.
// Ends the program where there is none, which called what is not there. Local.
[[nodiscard]] void* library_function(const char* name);

// The library is of that version or a later one. Local.
[[nodiscard]] bool is_at_least(int major, int minor);
// The user's own hints, in PNETCDF_HINTS, make the library write past MPI-IO. They come before those of the program.
[[nodiscard]] bool is_told_to_use_gio();

}  // namespace glean::pnetcdf

// Looked up at the first call.
#define GLEAN_PNETCDF_ORIGINAL(name)                                                                                \
  ([] {                                                                                                             \
    static const auto function = reinterpret_cast<decltype(&::name)>(glean::pnetcdf::library_function(#name));      \
    return function;                                                                                                \
  }())
