# SPDX-License-Identifier: BSD-3-Clause
# One folder, one target: everything that layering needs from the build.

# glean_add_folder(<folder> [RECURSE] [EXCLUDE <subfolder or file>…] [DIRECTORY <path>]
#                  [DEPENDS <folder>…] [LINKS <library>…] [PUBLIC_LINKS <library>…])
#
# Makes the static library glean_<folder> ('/' becomes '_') of the folder's sources, and the program
# glean_<folder>_test of its *_test.cpp, registered with ctest under "<folder>.". Both link the declared
# dependencies and nothing else. LINKS are seen by the folder's own sources and tests, PUBLIC_LINKS also by those
# that depend on it. A folder with headers only becomes an INTERFACE library, a folder without files no target.
function(glean_add_folder folder)
  cmake_parse_arguments(arg "RECURSE" "DIRECTORY" "EXCLUDE;DEPENDS;LINKS;PUBLIC_LINKS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "glean_add_folder(${folder}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  string(REPLACE "/" "_" name "glean_${folder}")
  set(directory "${PROJECT_SOURCE_DIR}/src/${folder}")
  if(arg_DIRECTORY)
    set(directory "${PROJECT_SOURCE_DIR}/${arg_DIRECTORY}")
  endif()
  set(how GLOB)
  if(arg_RECURSE)
    set(how GLOB_RECURSE)
  endif()
  file(${how} sources CONFIGURE_DEPENDS "${directory}/*.cpp")
  file(${how} headers CONFIGURE_DEPENDS "${directory}/*.hpp")
  foreach(excluded IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "^${directory}/${excluded}(/|$)")
    list(FILTER headers EXCLUDE REGEX "^${directory}/${excluded}(/|$)")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

  set(dependencies "")
  set(missing "")
  foreach(dependency IN LISTS arg_DEPENDS)
    string(REPLACE "/" "_" target "glean_${dependency}")
    if(TARGET ${target})
      list(APPEND dependencies ${target})
    endif()
  endforeach()
  string(REPLACE ";" " " edges "${arg_DEPENDS}")
  set_property(GLOBAL APPEND PROPERTY GLEAN_GRAPH "${folder}: ${edges}")

  if(sources)
    add_library(${name} STATIC ${sources} ${headers})
    target_link_libraries(${name} PUBLIC glean_compiler ${dependencies} ${arg_PUBLIC_LINKS} PRIVATE ${arg_LINKS})
    set_property(GLOBAL APPEND PROPERTY GLEAN_ARCHIVES "${folder} $<TARGET_FILE:${name}>")
  elseif(headers)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE glean_compiler ${dependencies} ${arg_PUBLIC_LINKS})
  else()
    return()
  endif()

  if(tests AND GLEAN_BUILD_TESTS)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} ${arg_LINKS} GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE ${glean_test_options})
    glean_discover_tests(${name}_test "${folder}.")
  endif()
endfunction()

# Registers the tests of a GoogleTest program with ctest. One process per test, but under sanitizers, with which a process takes as long to
# start as most tests: there one for all of them.
function(glean_discover_tests target prefix)
  if(GLEAN_SANITIZE)
    # ThreadSanitizer refuses the address layouts that newer kernels choose at random.
    add_test(NAME ${prefix}all COMMAND setarch -R $<TARGET_FILE:${target}> --gtest_brief=1)
    set_tests_properties(${prefix}all PROPERTIES TIMEOUT 900)
    return()
  endif()
  include(GoogleTest)
  gtest_discover_tests(${target} TEST_PREFIX "${prefix}" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 120)
endfunction()

# Writes what the checks of the layering read: the declared edges and the archives. tools/check_layers.
function(glean_write_graph)
  foreach(what GRAPH ARCHIVES)
    get_property(lines GLOBAL PROPERTY GLEAN_${what})
    string(REPLACE ";" "\n" text "${lines}")
    string(TOLOWER ${what} file)
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/layers/${file}.txt" CONTENT "${text}\n")
  endforeach()
endfunction()
