# SPDX-License-Identifier: BSD-3-Clause
# Language level, build type, warnings, sanitizers, places of what is built.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
# Of what every byte of a user goes through, or simulations spend their time in.
set(glean_kernel_options $<$<CONFIG:RelWithDebInfo>:-O3>)
# What is compiled for tests only: better translation would take longer than it saves.
set(glean_test_options $<$<CONFIG:RelWithDebInfo>:-O1> $<$<CONFIG:RelWithDebInfo>:-g0>)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# What every target of the project is compiled with.
add_library(glean_compiler INTERFACE)
# -Wno-restrict: GCC 12 warns of std::string's own code (its bug 105651).
target_compile_options(glean_compiler INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
# Not where the files of a folder are compiled together: names of one's unnamed namespace are no business of the others.
if(NOT CMAKE_UNITY_BUILD)
  target_compile_options(glean_compiler INTERFACE -Wshadow)
endif()
if(GLEAN_WERROR)
  target_compile_options(glean_compiler INTERFACE -Werror)
endif()
# The C++ bindings that MPI dropped in 2008 would otherwise come in with mpi.h.
target_compile_definitions(glean_compiler INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1
                           GLEAN_VERSION="${PROJECT_VERSION}")
target_include_directories(glean_compiler INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")

if(GLEAN_SANITIZE)
  add_compile_options(-fsanitize=${GLEAN_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GLEAN_SANITIZE})
  if(GLEAN_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# Coverage for libFuzzer, whose own main only the fuzzers link.
if(GLEAN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
