# SPDX-License-Identifier: BSD-3-Clause
# Everything that is taken instead of written; docs/dependencies.md says why.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
# Headers only; the distribution has no package file for it.
find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(asio::asio INTERFACE IMPORTED)
target_include_directories(asio::asio SYSTEM INTERFACE "${ASIO_INCLUDE_DIR}")
target_compile_definitions(asio::asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(asio::asio INTERFACE Threads::Threads)

# HDF5 without MPI makes the metadata of HDF5 files: the variable is the target to link, or empty.
set(GLEAN_HDF5 "")
if(GLEAN_WITH_HDF5)
  pkg_search_module(hdf5_serial QUIET IMPORTED_TARGET "hdf5-serial>=1.10.5" "hdf5>=1.10.5")
  find_library(HDF5_HL_LIBRARY NAMES hdf5_hl HINTS ${hdf5_serial_LIBRARY_DIRS})   # no pkg-config file has it
  mark_as_advanced(HDF5_HL_LIBRARY)
  if(hdf5_serial_FOUND AND HDF5_HL_LIBRARY)
    set(GLEAN_HDF5 ${HDF5_HL_LIBRARY} PkgConfig::hdf5_serial)
  endif()
endif()

if(GLEAN_WITH_MPI)
  # The library needs C only; C++ programs that link it include mpi.h.
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI REQUIRED COMPONENTS C CXX)
  if(GLEAN_WITH_PNETCDF)
    find_package(PnetCDF REQUIRED)
    # Only examples and tests need it: with the MPI that PnetCDF has.
    pkg_check_modules(hdf5 QUIET IMPORTED_TARGET hdf5-openmpi)
  endif()
  find_package(CLI11 REQUIRED)
endif()
if(GLEAN_BUILD_TESTS)
  find_package(GTest REQUIRED)
  # Debian's Python has the distribution's numpy; another one found first in PATH has not.
  if(NOT DEFINED Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python3_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Optional: the variable is the target to link, or empty.
set(GLEAN_LIBURING "")
if(GLEAN_WITH_LIBURING)
  pkg_check_modules(liburing IMPORTED_TARGET liburing)
  if(liburing_FOUND)
    set(GLEAN_LIBURING PkgConfig::liburing)
    target_compile_definitions(glean_compiler INTERFACE GLEAN_HAVE_LIBURING=1)
  endif()
endif()
set(GLEAN_HWLOC "")
if(GLEAN_WITH_HWLOC)
  pkg_check_modules(hwloc IMPORTED_TARGET hwloc)
  if(hwloc_FOUND)
    set(GLEAN_HWLOC PkgConfig::hwloc)
    target_compile_definitions(glean_compiler INTERFACE GLEAN_HAVE_HWLOC=1)
  endif()
endif()
