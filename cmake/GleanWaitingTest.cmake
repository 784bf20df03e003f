# SPDX-License-Identifier: BSD-3-Clause
# Tests that mostly wait run beside others. Where this user may mount, ${glean_in_own_shared_memory} before their command gives each a
# /dev/shm of its own; where not, they take all ${glean_waiting_processors} PROCESSORS.
set(glean_in_own_shared_memory "${PROJECT_SOURCE_DIR}/tests/in_own_shared_memory")
set(glean_waiting_processors 1)
execute_process(COMMAND "${glean_in_own_shared_memory}" true RESULT_VARIABLE glean_may_not_mount OUTPUT_QUIET ERROR_QUIET)
if(glean_may_not_mount)
  set(glean_in_own_shared_memory "")
  set(glean_waiting_processors 2)
endif()
