// SPDX-License-Identifier: BSD-3-Clause
//
// As much of HDF5 as is asked, without its headers: as its library has it since 1.10, where an identifier has 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace glean::hdf5 {

using hid_t = std::int64_t;
using herr_t = int;
using hsize_t = unsigned long long;
using hssize_t = long long;
using Printer = void (*)();   // what prints errors: of two kinds, by the version of H5Eset_auto that has set it

// Functions of one HDF5 library; found when it is there, all or none.
#define GLEAN_HDF5_FUNCTIONS(X)                                        \
  X(herr_t, H5get_libversion, (unsigned*, unsigned*, unsigned*))       \
  X(ssize_t, H5Fget_name, (hid_t, char*, std::size_t))                 \
  X(ssize_t, H5Iget_name, (hid_t, char*, std::size_t))                 \
  X(hid_t, H5Dget_type, (hid_t))                                       \
  X(hid_t, H5Dget_space, (hid_t))                                      \
  X(int, H5Tget_class, (hid_t))                                        \
  X(std::size_t, H5Tget_size, (hid_t))                                 \
  X(int, H5Tget_sign, (hid_t))                                         \
  X(herr_t, H5Tclose, (hid_t))                                         \
  X(hssize_t, H5Sget_select_npoints, (hid_t))                          \
  X(int, H5Sget_simple_extent_ndims, (hid_t))                          \
  X(int, H5Sget_simple_extent_dims, (hid_t, hsize_t*, hsize_t*))       \
  X(herr_t, H5Sclose, (hid_t))                                         \
  X(herr_t, H5Eauto_is_v2, (hid_t, unsigned*))                         \
  X(herr_t, H5Eget_auto2, (hid_t, Printer*, void**))                   \
  X(herr_t, H5Eset_auto2, (hid_t, Printer, void*))                     \
  X(herr_t, H5Eclear2, (hid_t))

struct Library {
#define GLEAN_HDF5_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  GLEAN_HDF5_FUNCTIONS(GLEAN_HDF5_MEMBER)
#undef GLEAN_HDF5_MEMBER
  // Not in a library without deprecated functions, which has no use for them.
  herr_t (*H5Eget_auto1)(Printer*, void**) = nullptr;
  herr_t (*H5Eset_auto1)(Printer, void*) = nullptr;
};

}  // namespace glean::hdf5
