! SPDX-License-Identifier: BSD-3-Clause
!
! Restart dumps through GLEAN. `stat` is asked for where the program can do something about a failure: where it restarts, and at the end,
! for all calls.
module dump_glean
  use dump_way, only: way
  use fields, only: state, species, directions
  use glean
  implicit none
  private

  type, extends(way), public :: way_glean
    type(glean_session) :: session
  contains
    procedure :: start
    procedure :: write
    procedure :: complete
    procedure :: restart
    procedure :: read
    procedure :: finish
  end type way_glean

contains

  subroutine start(self, comm)
    class(way_glean), intent(inout) :: self
    integer, intent(in) :: comm
    call glean_session_open(comm, self%session)
  end subroutine start

  subroutine write(self, path, now)
    class(way_glean), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(state), intent(inout) :: now
    type(glean_output) :: out
    type(glean_dimension) :: x, y, z, ys, us
    type(glean_variable) :: yspecies, temp, pressure, u

    call glean_output_open(self%session, path, GLEAN_CDF5, out)
    call glean_output_define_dimension(out, 'x', now%grid%whole(1), x)
    call glean_output_define_dimension(out, 'y', now%grid%whole(2), y)
    call glean_output_define_dimension(out, 'z', now%grid%whole(3), z)
    call glean_output_define_dimension(out, 'species', species, ys)
    call glean_output_define_dimension(out, 'directions', directions, us)
    associate (start => now%grid%start, count => now%grid%count)
      call glean_output_define_variable(out, 'yspecies', GLEAN_FLOAT64, [x, y, z, ys], [start, 1], [count, species], yspecies)
      call glean_output_define_variable(out, 'temp', GLEAN_FLOAT64, [x, y, z], start, count, temp)
      call glean_output_define_variable(out, 'pressure', GLEAN_FLOAT64, [x, y, z], start, count, pressure)
      call glean_output_define_variable(out, 'u', GLEAN_FLOAT64, [x, y, z, us], [start, 1], [count, directions], u)
    end associate
    call glean_output_define_attribute(out, 'step', now%step)
    call glean_output_define_attribute(out, 'time', now%time)

    call glean_output_begin_step(out)
    call glean_output_put(out, yspecies, now%yspecies)
    call glean_output_put(out, temp, now%temp)
    call glean_output_put(out, pressure, now%pressure)
    call glean_output_put(out, u, now%u)
    call glean_output_end_step(out)
    call glean_output_close(out)
    call glean_output_free(out)
  end subroutine write

  subroutine complete(self)
    class(way_glean), intent(inout) :: self
    call glean_session_wait(self%session, GLEAN_DURABLE)
  end subroutine complete

  ! The newest complete dump of those that the pattern means.
  subroutine restart(self, path, whole)
    class(way_glean), intent(inout) :: self
    character(len=:), allocatable, intent(inout) :: path
    integer, intent(inout) :: whole(3)
    type(glean_input) :: in
    type(glean_variable) :: temp
    type(glean_variable_description) :: description
    integer :: stat
    character(len=400) :: errmsg
    call glean_session_restart(self%session, path, in, stat=stat, errmsg=errmsg)
    path = ''
    if (stat == GLEAN_OK) then
      path = glean_input_path(in)
      call glean_input_find_variable(in, 'temp', temp)
      call glean_input_describe(in, temp, description)
      if (allocated(description%shape)) whole = int(description%shape)
    else if (stat /= GLEAN_NOT_FOUND) then
      error stop 's3d_io: '//trim(errmsg)
    end if
    call glean_input_free(in)
  end subroutine restart

  subroutine read(self, path, now)
    class(way_glean), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(state), intent(inout) :: now
    type(glean_input) :: in
    type(glean_variable) :: variable
    call glean_input_open(self%session, path, in)
    call glean_input_attribute(in, 'step', now%step)
    call glean_input_attribute(in, 'time', now%time)
    call glean_input_find_variable(in, 'yspecies', variable)
    call glean_input_read(in, variable, now%yspecies, [now%grid%start, 1])
    call glean_input_find_variable(in, 'temp', variable)
    call glean_input_read(in, variable, now%temp, now%grid%start)
    call glean_input_find_variable(in, 'pressure', variable)
    call glean_input_read(in, variable, now%pressure, now%grid%start)
    call glean_input_find_variable(in, 'u', variable)
    call glean_input_read(in, variable, now%u, [now%grid%start, 1])
    call glean_input_free(in)
  end subroutine read

  subroutine finish(self)
    class(way_glean), intent(inout) :: self
    integer :: stat
    character(len=400) :: errmsg
    call glean_session_close(self%session, stat, errmsg)
    if (stat /= GLEAN_OK) error stop 's3d_io: '//trim(errmsg)
    call glean_session_free(self%session)
  end subroutine finish
end module dump_glean
