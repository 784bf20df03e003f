! SPDX-License-Identifier: BSD-3-Clause
!
! Steps are added to a file that is there, on any number of ranks. Argument: a directory for the files.
program appended
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type(glean_session) :: session
  type(glean_output) :: out
  type(glean_input) :: in
  type(glean_dimension) :: t, x
  type(glean_variable) :: v
  character(len=1000) :: directory
  character(len=12) :: digits
  character(len=:), allocatable :: path

  real(real64) :: seen(1)
  integer :: unit, steps
  logical :: is_there

  call start_ranks()
  call get_command_argument(1, directory)
  write (digits, '(i0)') ranks
  path = trim(directory)//'/fortran_appended_'//trim(digits)//'.nc'
  inquire (file=path, exist=is_there)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (me == 0 .and. is_there) then
    open (newunit=unit, file=path)
    close (unit, status='delete')
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
  call ok('open a session')
  call glean_output_append(session, path, out, stat, errmsg)
  call failed(GLEAN_NOT_FOUND, 'there is no such file', 'adding to nothing')
  call glean_output_free(out)

  call glean_output_open(session, path, GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
  call ok('open a file')
  call glean_output_define_unlimited(out, 't', t)
  call glean_output_define_dimension(out, 'x', ranks, x)
  call glean_output_define_variable(out, 'v', GLEAN_FLOAT64, [x, t], [me + 1], [1], v)
  call a_step(1d0)

  call glean_output_append(session, path, out, stat, errmsg)
  call ok('add to it')
  call glean_output_find_variable(out, 'v', v, stat, errmsg)
  call ok('find its variable')
  call a_step(2d0)

  call glean_input_open(session, path, in, stat=stat, errmsg=errmsg)
  call ok('read it')
  call glean_input_steps(in, steps)
  call expect(steps == 2, 'it has both steps')
  call glean_input_read(in, glean_variable(1), seen, [me + 1], step=2, stat=stat, errmsg=errmsg)
  call ok('read the second step')
  call expect(seen(1) == 2d0 + me, 'it has what was put')
  call glean_input_free(in)
  call glean_session_close(session, stat, errmsg)
  call ok('close the session')
  call glean_session_free(session)
  call end_ranks()

contains

  subroutine a_step(value)
    real(real64), intent(in) :: value
    call glean_output_begin_step(out)
    call glean_output_put_box(out, v, [value + me], [me + 1], stat, errmsg)
    call ok('put a box')
    call glean_output_end_step(out)
    call glean_output_close(out, stat, errmsg)
    call ok('close the file')
    call glean_output_free(out)
  end subroutine a_step
end program appended
