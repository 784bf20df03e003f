# SPDX-License-Identifier: BSD-3-Clause
# Tests that need ranks. Several run side by side: ${glean_in_own_shared_memory} before a command gives it a /dev/shm of its own, so that
# it meets no pool of another test. Where this user may not mount, such tests run one after the other.
set(glean_in_own_shared_memory "${PROJECT_SOURCE_DIR}/tests/in_own_shared_memory")
execute_process(COMMAND "${glean_in_own_shared_memory}" true RESULT_VARIABLE glean_may_not_mount OUTPUT_QUIET ERROR_QUIET)
# Of the 4 that `make test` lets ctest count with: a job takes half of the machine, a test that mostly waits a quarter.
set(glean_job_processors 2)
set(glean_waiting_processors 1)
if(glean_may_not_mount)
  set(glean_in_own_shared_memory "")
  set(glean_job_processors 4)
  set(glean_waiting_processors 4)
endif()

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

# How tests start ranks wherever ctest runs them: as root, in a container, on fewer cores than ranks.
set(glean_mpirun ${MPIEXEC_EXECUTABLE})
set(glean_mpi_environment "")
if(glean_is_open_mpi)
  list(APPEND glean_mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
  set(glean_mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
endif()

# glean_add_mpi_test(<name> <ranks> <target> [<argument>…])
#
# Runs the program of <target> on <ranks> ranks under mpirun. A command in the caller's variable glean_mpi_test_launcher stands before
# mpirun.
function(glean_add_mpi_test name ranks target)
  glean_add_job_test(${name} SECONDS 180
    COMMAND ${glean_mpi_test_launcher} ${glean_mpirun} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${target}> ${ARGN})
endfunction()

# glean_add_job_test(<name> [SECONDS <limit>] [COST <seconds>] [WAITS] [MAY_SKIP] COMMAND <word>… [ENVIRONMENT <variable>=<value>…])
#
# Runs a command that starts ranks itself; in its environment are MPIEXEC, and MPIRUN, which is to be followed by the number of ranks.
# WAITS: it mostly waits. COST: about what it takes, if that is long, so that ctest starts it early. MAY_SKIP: status 77 says that this
# machine lacks something.
function(glean_add_job_test name)
  cmake_parse_arguments(arg "WAITS;MAY_SKIP" "SECONDS;COST" "COMMAND;ENVIRONMENT" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "glean_add_job_test(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 300)
  endif()
  if(NOT arg_COST)
    set(arg_COST 0)
  endif()
  set(processors ${glean_job_processors})
  if(arg_WAITS)
    set(processors ${glean_waiting_processors})
  endif()
  list(JOIN glean_mpirun " " mpirun)
  add_test(NAME ${name} COMMAND ${glean_in_own_shared_memory} ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_SECONDS} COST ${arg_COST} PROCESSORS ${processors}
    ENVIRONMENT "MPIEXEC=${MPIEXEC_EXECUTABLE};MPIRUN=${mpirun} ${MPIEXEC_NUMPROC_FLAG};${glean_mpi_environment};${arg_ENVIRONMENT}")
  if(arg_MAY_SKIP)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()
