! SPDX-License-Identifier: BSD-3-Clause
program in_fortran
  use mpi
  use glean
  implicit none
  type(glean_session) :: session
  integer :: stat, ierr
  character(len=200) :: errmsg
  call MPI_Init(ierr)
  call glean_session_open(MPI_COMM_WORLD, session, ['no.such.key = 1'], stat, errmsg)
  if (stat /= GLEAN_INVALID_CONFIG) print '(a)', trim(errmsg)
  call glean_session_free(session)
  print '(a)', glean_version()
  call MPI_Finalize(ierr)
end program in_fortran
