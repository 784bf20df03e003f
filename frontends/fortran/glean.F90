! SPDX-License-Identifier: BSD-3-Clause
!
! GLEAN from Fortran: the calls of glean/glean.h under the same names. docs/fortran.md is its page, with a first program and a table of how
! indices map to the file; docs/api.md puts the calls of all languages side by side.
module glean
  use glean_values
  use glean_handles, only: glean_session, glean_output, glean_input, glean_task_file, glean_container, glean_task_input
  use glean_sessions
  use glean_messages
  use glean_definitions
  use glean_grids
  use glean_meshes
  use glean_outputs
  use glean_puts
  use glean_inputs
  use glean_reads
  use glean_containers
  use glean_tasks
  implicit none
  public
end module glean
