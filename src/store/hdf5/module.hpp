// SPDX-License-Identifier: BSD-3-Clause
//
// What the module libglean_hdf5.so exports. Programs may have an HDF5 of their own, of another version and with MPI: the module is loaded
// when the first HDF5 file is defined, and its HDF5 is not seen by the program.
#pragma once

#include <cstddef>

extern "C" {

// `take` gets the encoded FileImage if the result is -1, else the text and the hint of an error, each with a zero byte behind it; the
// result is then its Errc. `version`: GLEAN_VERSION of the library that has loaded the module. Of one thread at a time.
using glean_hdf5_take = void(void* context, const std::byte* bytes, std::size_t size);
using glean_hdf5_image_function = int(const char* version, const std::byte* definitions, std::size_t size, int range, void* context,
                                      glean_hdf5_take* take) noexcept;

}

namespace glean::store {

inline constexpr char hdf5_module_file[] = "libglean_hdf5.so";
inline constexpr char hdf5_module_function[] = "glean_hdf5_image";

}  // namespace glean::store
