# SPDX-License-Identifier: BSD-3-Clause
# PnetCDF::PnetCDF, its header and its library; PnetCDF_ROOT or CMAKE_PREFIX_PATH says where they are when the compiler does not know.
# Not from pnetcdf.pc: that of Debian 13 names a directory of the machine that built it, as a package made for staging does.
find_path(PnetCDF_INCLUDE_DIR pnetcdf.h)
find_library(PnetCDF_LIBRARY pnetcdf)
mark_as_advanced(PnetCDF_INCLUDE_DIR PnetCDF_LIBRARY)
if(PnetCDF_INCLUDE_DIR)
  file(STRINGS "${PnetCDF_INCLUDE_DIR}/pnetcdf.h" PnetCDF_version_line REGEX "^#define PNETCDF_VERSION +\"")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" PnetCDF_VERSION "${PnetCDF_version_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PnetCDF REQUIRED_VARS PnetCDF_LIBRARY PnetCDF_INCLUDE_DIR VERSION_VAR PnetCDF_VERSION)
if(PnetCDF_FOUND AND NOT TARGET PnetCDF::PnetCDF)
  add_library(PnetCDF::PnetCDF UNKNOWN IMPORTED)
  set_target_properties(PnetCDF::PnetCDF PROPERTIES IMPORTED_LOCATION "${PnetCDF_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES "${PnetCDF_INCLUDE_DIR}")
endif()
