// SPDX-License-Identifier: BSD-3-Clause
//
// What the module libglean_hdf5.so exports. Programs may have an HDF5 of their own, of another version and with MPI: the module is loaded
// when the first HDF5 file is defined or opened, and its HDF5 is not seen by the program.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// All functions: `take` gets what is asked for if the result is -1, else the text and the hint of an error, each with a zero byte behind
// it; the result is then its Errc. `version`: GLEAN_VERSION of the library that has loaded the module. Of one thread at a time.
using glean_hdf5_take = void(void* context, const std::byte* bytes, std::size_t size);

// The encoded FileImage of encoded definitions.
using glean_hdf5_image_function = int(const char* version, const std::byte* definitions, std::size_t size, int range, void* context,
                                      glean_hdf5_take* take) noexcept;

// A file to read. `read` gives bytes that lie in the file, and returns 0 if it has.
struct glean_hdf5_file {
  void* context;
  std::uint64_t bytes;
  int (*read)(void* context, std::byte* into, std::size_t size, std::uint64_t offset) noexcept;
};

// The encoded FileContents.
using glean_hdf5_contents_function = int(const char* version, const glean_hdf5_file* file, void* context, glean_hdf5_take* take) noexcept;

// The elements of a box of a variable, native and of the variable's type, go to `values`. `contents`: encoded, of this one variable. `box`:
// the first of a record, its begin in each dimension, its length in each. Nothing is taken but an error.
using glean_hdf5_elements_function = int(const char* version, const glean_hdf5_file* file, const std::byte* contents, std::size_t size,
                                         const std::uint64_t* box, std::byte* values, void* context, glean_hdf5_take* take) noexcept;

}

namespace glean::store {

inline constexpr char hdf5_module_file[] = "libglean_hdf5.so";
inline constexpr char hdf5_image_function[] = "glean_hdf5_image";
inline constexpr char hdf5_contents_function[] = "glean_hdf5_contents";
inline constexpr char hdf5_elements_function[] = "glean_hdf5_elements";

}  // namespace glean::store
