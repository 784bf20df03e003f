! SPDX-License-Identifier: BSD-3-Clause
!
! The life of an output; what it consists of is in definitions.F90, what is put into it in puts.F90.
module glean_outputs
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_sizeof
  use, intrinsic :: iso_fortran_env, only: real64
  use glean_values
  use glean_handles
  use glean_c_calls
  implicit none
  private
  public :: glean_output_open, glean_output_append, glean_output_message, glean_output_end_definitions, glean_output_begin_step
  public :: glean_output_end_step, glean_output_fail
  public :: glean_output_find_variable, glean_output_wait, glean_output_reached, glean_output_close, glean_output_close_at
  public :: glean_output_free

contains

  ! Opens a new output. The file appears under `path` when it is complete. Collective.
  subroutine glean_output_open(session, path, format, output, existing, stat, errmsg)
    type(glean_session), intent(in) :: session
    character(len=*), intent(in) :: path
    integer, intent(in) :: format
    type(glean_output), intent(inout) :: output
    integer, intent(in), optional :: existing
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_output_options) :: options
    type(handle_state), pointer :: state
    integer(c_int) :: status

    if (.not. associated(session%inside)) then
      call finish(session%inside, 'glean_output_open', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    options%size = c_sizeof(options)
    if (present(existing)) options%existing = int(existing, c_int)
    state => new_state(OF_OUTPUT, session%inside)
    status = c_output_open(session%inside%handle, c_text(path), int(format, c_int), options, state%handle)
    output%inside => state
    call finish_opening(state, 'glean_output_open', status, stat, errmsg)
  end subroutine glean_output_open

  ! Adds steps to a NetCDF file that is there, behind the last one. glean_output_find_variable finds what glean_output_put_box takes: any
  ! part of a record. A reader sees the old file or one with more whole steps. Collective. Blocks.
  subroutine glean_output_append(session, path, output, stat, errmsg)
    type(glean_session), intent(in) :: session
    character(len=*), intent(in) :: path
    type(glean_output), intent(inout) :: output
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(handle_state), pointer :: state
    integer(c_int) :: status

    if (.not. associated(session%inside)) then
      call finish(session%inside, 'glean_output_append', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    state => new_state(OF_OUTPUT, session%inside)
    status = c_output_append(session%inside%handle, c_text(path), state%handle)
    output%inside => state
    call finish_opening(state, 'glean_output_append', status, stat, errmsg)
  end subroutine glean_output_append

  ! What the last failed call with this output said; '' when there was none. Local.
  function glean_output_message(output) result(message)
    type(glean_output), intent(in) :: output
    character(len=:), allocatable :: message
    message = message_of(output%inside)
  end function glean_output_message

  ! Creates the file with its metadata. The first begin_step calls it if the program has not. Collective. Blocks.
  subroutine glean_output_end_definitions(output, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_end_definitions', c_output_end_definitions(handle_of(output%inside)), stat, errmsg)
  end subroutine glean_output_end_definitions

  ! Starts the next step. Local, but Collective the first time.
  subroutine glean_output_begin_step(output, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_begin_step', c_output_begin_step(handle_of(output%inside)), stat, errmsg)
  end subroutine glean_output_begin_step

  ! For what the program refuses by itself: the output goes on as if a definition or put of this rank had failed with `status` and `why`.
  ! Local.
  subroutine glean_output_fail(output, status, why, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(in) :: status
    character(len=*), intent(in) :: why
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_fail', c_output_fail(handle_of(output%inside), int(status, c_int), c_text(why)), stat, errmsg)
  end subroutine glean_output_fail

  ! Ends this rank's part of the step. Local.
  subroutine glean_output_end_step(output, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_end_step', c_output_end_step(handle_of(output%inside)), stat, errmsg)
  end subroutine glean_output_end_step

  ! Local.
  subroutine glean_output_find_variable(output, name, variable, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    type(glean_variable), intent(inout) :: variable
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_id) :: found
    integer(c_int) :: status
    status = c_output_find_variable(handle_of(output%inside), c_text(name), found)
    if (status == GLEAN_OK) variable%id = found%id + 1
    call finish(output%inside, 'glean_output_find_variable', status, stat, errmsg)
  end subroutine glean_output_find_variable

  ! Waits until everything put so far is at `level` on every rank; at most `seconds`, or the configured deadline. Collective. Blocks.
  subroutine glean_output_wait(output, level, seconds, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(in) :: level
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(c_double) :: at_most
    at_most = -1
    if (present(seconds)) at_most = seconds
    call finish(output%inside, 'glean_output_wait', c_output_wait(handle_of(output%inside), int(level, c_int), at_most), stat, errmsg)
  end subroutine glean_output_wait

  ! Whether everything that this rank has put so far is at `level`. Local; does not wait.
  subroutine glean_output_reached(output, level, reached, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(in) :: level
    logical, intent(out) :: reached
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: answer, status
    answer = 0
    status = c_output_reached(handle_of(output%inside), int(level, c_int), answer)
    reached = answer /= 0
    call finish(output%inside, 'glean_output_reached', status, stat, errmsg)
  end subroutine glean_output_reached

  ! No more steps: the file is completed and published in the background. Collective; does not wait for the drain.
  subroutine glean_output_close(output, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_close', c_output_close(handle_of(output%inside)), stat, errmsg)
  end subroutine glean_output_close

  ! glean_output_close, and glean_output_wait. Collective. Blocks.
  subroutine glean_output_close_at(output, level, seconds, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(in) :: level
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(c_double) :: at_most
    at_most = -1
    if (present(seconds)) at_most = seconds
    call finish(output%inside, 'glean_output_close_at', c_output_close_at(handle_of(output%inside), int(level, c_int), at_most), &
        stat, errmsg)
  end subroutine glean_output_close_at

  ! Gives the handle back. Without glean_output_close before, the output is abandoned: nothing is published. Local.
  subroutine glean_output_free(output)
    type(glean_output), intent(inout) :: output
    call c_output_free(handle_of(output%inside))
    call forget_state(output%inside)
  end subroutine glean_output_free
end module glean_outputs
