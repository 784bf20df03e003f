# SPDX-License-Identifier: BSD-3-Clause
# Tests that need ranks.

# glean_add_mpi_test(<name> <ranks> <target> [<argument>…])
#
# Runs the program of <target> on <ranks> ranks under mpirun, wherever ctest runs it: as root, in a container, on
# fewer cores than ranks. A command in the caller's variable glean_mpi_test_launcher stands before mpirun.
function(glean_add_mpi_test name ranks target)
  set(options "")
  set(environment "")
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(version MATCHES "Open MPI|OpenRTE")
    set(options --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
    set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  endif()
  add_test(NAME ${name}
           COMMAND ${glean_mpi_test_launcher}
                   ${MPIEXEC_EXECUTABLE} ${options} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 180 PROCESSORS 2)
endfunction()
