# SPDX-License-Identifier: BSD-3-Clause
# Tests that need ranks.

# What there is of MPI-IO to run a test with, and on how many ranks: those of MPICH do not yield, and more than there are cores take
# minutes.
if(GLEAN_WITH_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE glean_mpi_version ERROR_QUIET)
endif()
if(glean_mpi_version MATCHES "Open MPI|OpenRTE")
  set(glean_is_open_mpi TRUE)
  # Its own and ROMIO, whose name there has its version: romio321, romio341. Later ones have it no more.
  get_filename_component(glean_mpi_commands "${MPIEXEC_EXECUTABLE}" DIRECTORY)
  execute_process(COMMAND "${glean_mpi_commands}/ompi_info" --parsable OUTPUT_VARIABLE glean_mpi_components)
  string(REGEX MATCHALL "mca:io:[a-z0-9]+" glean_mpi_io_implementations "${glean_mpi_components}")
  list(TRANSFORM glean_mpi_io_implementations REPLACE "mca:io:" "")
  list(REMOVE_DUPLICATES glean_mpi_io_implementations)
  list(SORT glean_mpi_io_implementations)
  if(GLEAN_BUILD_TESTS AND NOT glean_mpi_io_implementations)   # tests would be left out in silence
    message(FATAL_ERROR "${glean_mpi_commands}/ompi_info names no implementation of MPI-IO; GLEAN_BUILD_TESTS=OFF builds without tests")
  endif()
  set(glean_mpi_test_ranks 4)
else()
  set(glean_is_open_mpi FALSE)
  set(glean_mpi_io_implementations romio)
  set(glean_mpi_test_ranks 2)
endif()

# glean_add_mpi_test(<name> <ranks> <target> [<argument>…])
#
# Runs the program of <target> on <ranks> ranks under mpirun, wherever ctest runs it: as root, in a container, on
# fewer cores than ranks. A command in the caller's variable glean_mpi_test_launcher stands before mpirun.
function(glean_add_mpi_test name ranks target)
  set(options "")
  set(environment "")
  if(glean_is_open_mpi)
    set(options --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
    set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  endif()
  add_test(NAME ${name}
           COMMAND ${glean_mpi_test_launcher}
                   ${MPIEXEC_EXECUTABLE} ${options} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 180 PROCESSORS 2)
endfunction()
