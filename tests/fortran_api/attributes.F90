! SPDX-License-Identifier: BSD-3-Clause
!
! Attributes whose values come until an output is closed, on any number of ranks. Argument: a directory for the file.
program attributes
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: int16, real64
  implicit none
  type(glean_session) :: session
  type(glean_output) :: out
  type(glean_input) :: in
  type(glean_dimension) :: x
  type(glean_variable) :: v
  character(len=1000) :: directory
  character(len=12) :: digits
  character(len=9) :: state
  character(len=:), allocatable :: path
  real(real64) :: seconds(1), range(4)
  integer :: flag(1), length

  call start_ranks()
  call get_command_argument(1, directory)
  write (digits, '(i0)') ranks
  path = trim(directory)//'/fortran_attributes_'//trim(digits)//'.nc'
  call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
  call ok('open a session')
  call glean_output_open(session, path, GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
  call ok('open a file')
  call glean_output_define_dimension(out, 'x', ranks, x)
  call glean_output_define_variable(out, 'v', GLEAN_FLOAT64, [x], [me + 1], [1], v)
  call glean_output_define_attribute(out, 'state', 'under way')
  call glean_output_define_attribute(out, 'seconds', -1d0)
  call glean_output_define_variable_attribute(out, v, 'range', [0d0, 0d0])
  call glean_output_define_variable_attribute(out, v, 'flag', 0_int16, GLEAN_UINT16)
  call glean_output_allow_attribute_change(out, 'state', stat, errmsg)
  call ok('let a text change')
  call glean_output_allow_attribute_change(out, 'seconds')
  call glean_output_allow_variable_attribute_change(out, v, 'range', stat, errmsg)
  call ok('let numbers change')
  call glean_output_allow_variable_attribute_change(out, v, 'flag')
  call glean_output_begin_step(out)
  call glean_output_put(out, v, [1d0 * me], stat, errmsg)
  call glean_output_end_step(out)
  call glean_output_set_attribute(out, 'state', 'done', stat=stat, errmsg=errmsg)
  call ok('set a text')
  call glean_output_set_attribute(out, 'seconds', 2.5d0, stat=stat, errmsg=errmsg)
  call ok('set a number')
  range = [1d0, -1d0, 2d0, -1d0]
  call glean_output_set_variable_attribute(out, v, 'range', range(1:3:2), stat=stat, errmsg=errmsg)
  call ok('set a section')
  call glean_output_set_variable_attribute(out, v, 'flag', 7_int16, GLEAN_UINT16, stat, errmsg)
  call ok('set an unsigned number')
  call glean_output_close_at(out, GLEAN_DURABLE, 60d0, stat, errmsg)
  call ok('close the file')
  call glean_output_set_attribute(out, 'seconds', 2.5d0, stat=stat, errmsg=errmsg)
  call failed(GLEAN_INVALID_STATE, 'it is closed', 'setting an attribute of what is closed')
  call glean_output_free(out)

  call glean_input_open(session, path, in, stat=stat, errmsg=errmsg)
  call ok('read it')
  call glean_input_attribute(in, 'state', state, length, stat, errmsg)
  call ok('read the text')
  call expect(length == 9 .and. state == 'done'//repeat(char(0), 5), 'it is the last one, padded with zeros')
  call glean_input_attribute(in, 'seconds', seconds)
  call glean_input_variable_attribute(in, glean_variable(1), 'range', range, length)
  call expect(seconds(1) == 2.5d0 .and. length == 2 .and. range(1) == 1 .and. range(2) == 2, 'numbers are the last ones')
  call glean_input_variable_attribute(in, glean_variable(1), 'flag', flag)
  call expect(flag(1) == 7, 'so is the unsigned one')
  call glean_input_free(in)

  call glean_output_open(session, path, GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
  call glean_output_define_attribute(out, 'seconds', -1d0)
  call glean_output_allow_attribute_change(out, 'second', stat, errmsg)
  call failed(GLEAN_NOT_FOUND, 'no attribute ''second'' is defined', 'letting change what is not there')
  call glean_output_free(out)
  call glean_session_close(session, stat, errmsg)
  call ok('close the session')
  call glean_session_free(session)
  call end_ranks()
end program attributes
