# SPDX-License-Identifier: BSD-3-Clause
# The library that is installed: session and front ends with what they need of the folders, in one file.

if(NOT TARGET glean_session)
  return()
endif()
get_target_property(kind glean_session TYPE)
if(NOT kind STREQUAL "STATIC_LIBRARY")
  return()
endif()

set(parts glean_session)
if(TARGET glean_c)
  list(APPEND parts glean_c)
endif()
set(objects "")
foreach(part IN LISTS parts)
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(glean SHARED ${objects})
add_library(glean::glean ALIAS glean)
if(TARGET glean_hdf5_module)
  add_dependencies(glean glean_hdf5_module)   # which it loads
endif()
# The folders stay inside: their symbols are hidden, and users see MPI only.
target_link_libraries(glean PRIVATE ${parts} MPI::MPI_C
                      INTERFACE $<BUILD_INTERFACE:MPI::MPI_C> $<BUILD_INTERFACE:MPI::MPI_CXX>)
target_link_options(glean PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)
target_compile_features(glean INTERFACE cxx_std_20)
target_include_directories(glean INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(glean PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE CXX
                                       INSTALL_RPATH "$ORIGIN")

include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/glean")
install(TARGETS glean EXPORT glean LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
export(EXPORT glean NAMESPACE glean:: FILE ${PROJECT_BINARY_DIR}/glean-targets.cmake)   # the build is found as what is installed
install(EXPORT glean NAMESPACE glean:: FILE glean-targets.cmake DESTINATION ${package})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/glean" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(GLEAN_HAS_HDF5 FALSE)
if(TARGET glean_hdf5_module)
  set(GLEAN_HAS_HDF5 TRUE)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/glean-config.cmake.in ${PROJECT_BINARY_DIR}/glean-config.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS GLEAN_PYTHON_PACKAGES)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/glean-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/glean-config.cmake ${PROJECT_BINARY_DIR}/glean-config-version.cmake
        DESTINATION ${package})
file(RELATIVE_PATH GLEAN_PREFIX_OF_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")   # wherever `cmake --install --prefix` puts it
configure_file(${PROJECT_SOURCE_DIR}/cmake/glean.pc.in ${PROJECT_BINARY_DIR}/glean.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/glean.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.1" "${PROJECT_SOURCE_DIR}/docs/man/*.3"
     "${PROJECT_SOURCE_DIR}/docs/man/*.5")
foreach(page IN LISTS pages)
  string(REGEX MATCH "[0-9]$" section "${page}")
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# Environment modules, for Lmod (Lua) and for Environment Modules (Tcl). Where they lead is known when they are installed.
set(modulefiles "${CMAKE_INSTALL_DATADIR}/modulefiles/glean")
foreach(kind IN ITEMS lua tcl)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/modulefile/glean.${kind}.in ${PROJECT_BINARY_DIR}/modulefile.${kind} @ONLY)
endforeach()
install(CODE "
  foreach(kind IN ITEMS lua tcl)
    set(modulefile \"\${CMAKE_INSTALL_PREFIX}/${modulefiles}/${PROJECT_VERSION}\")
    if(kind STREQUAL \"lua\")
      string(APPEND modulefile .lua)
    endif()
    message(STATUS \"Installing: \$ENV{DESTDIR}\${modulefile}\")
    file(READ \"${PROJECT_BINARY_DIR}/modulefile.\${kind}\" text)
    string(REPLACE \"<prefix>\" \"\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
    file(WRITE \"\$ENV{DESTDIR}\${modulefile}\" \"\${text}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${modulefile}\")
  endforeach()")
