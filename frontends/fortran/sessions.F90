! SPDX-License-Identifier: BSD-3-Clause
module glean_sessions
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_loc, c_null_char, c_ptr, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int64, real64
#ifdef GLEAN_HAVE_MPI_F08
  use mpi_f08, only: MPI_Comm
#endif
  use glean_values
  use glean_handles
  use glean_questions
  use glean_c_calls
  implicit none
  private
  public :: glean_version, glean_status_name, glean_session_open, glean_session_is_writer, glean_session_comm, glean_session_wait
  public :: glean_session_close, glean_session_free, glean_session_statistics, glean_session_outputs, glean_session_output
  public :: glean_session_message

  ! `comm`: an integer, as of mpif.h and the module mpi, or a type(MPI_Comm) of mpi_f08.
  interface glean_session_open
    module procedure open_session
#ifdef GLEAN_HAVE_MPI_F08
    module procedure open_session_f08
#endif
  end interface

  interface glean_session_comm
    module procedure session_comm
#ifdef GLEAN_HAVE_MPI_F08
    module procedure session_comm_f08
#endif
  end interface

contains

  function glean_version() result(version)
    character(len=:), allocatable :: version
    version = text_of(c_version())
  end function glean_version

  function glean_status_name(status) result(name)
    integer, intent(in) :: status
    character(len=:), allocatable :: name
    name = text_of(c_status_name(int(status, c_int)))
  end function glean_status_name

  ! Joins the ranks of `comm` into a session. `settings`: texts 'key = value'. Collective. Blocks.
  subroutine open_session(comm, session, settings, stat, errmsg)
    integer, intent(in) :: comm
    type(glean_session), intent(inout) :: session
    character(len=*), intent(in), optional :: settings(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_size_t), parameter :: room = 4096
    character(kind=c_char), target :: message(room)
    character(len=:), allocatable, target :: keys(:), values(:)
    type(c_setting), allocatable :: pairs(:)
    type(handle_state), pointer :: state
    integer(c_int) :: status

    call split(settings, keys, values, pairs)
    state => new_state(OF_SESSION)
    message(1) = c_null_char
    status = c_session_open(int(comm, c_int), pairs, size(pairs, kind=c_size_t), state%handle, message, room)
    session%inside => state
    call finish(state, 'glean_session_open', status, stat, errmsg, text_of(c_loc(message)))
  end subroutine open_session

  subroutine split(settings, keys, values, pairs)
    character(len=*), intent(in), optional :: settings(:)
    character(len=:), allocatable, target, intent(out) :: keys(:), values(:)
    type(c_setting), allocatable, intent(out) :: pairs(:)
    integer :: i, equals
    if (.not. present(settings)) then
      allocate (pairs(0))
      return
    end if
    allocate (pairs(size(settings)))
    allocate (character(len=len(settings) + 1) :: keys(size(settings)), values(size(settings)))
    do i = 1, size(settings)
      equals = index(settings(i), '=')
      if (equals == 0) equals = len(settings) + 1   ! no key has such a name, which every rank is told
      keys(i) = c_text(adjustl(settings(i) (:equals - 1)))
      values(i) = c_text(adjustl(settings(i) (equals + 1:)))
      pairs(i)%key = c_loc(keys(i))
      pairs(i)%value = c_loc(values(i))
    end do
  end subroutine split

  ! Whether this rank was set aside to write (mode `dedicated`). Local.
  subroutine glean_session_is_writer(session, is_writer, stat, errmsg)
    type(glean_session), intent(in) :: session
    logical, intent(out) :: is_writer
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: answer, status
    answer = 0
    status = c_session_is_writer(handle_of(session%inside), answer)
    is_writer = answer /= 0
    call finish(session%inside, 'glean_session_is_writer', status, stat, errmsg)
  end subroutine glean_session_is_writer

  ! The ranks that compute. Local.
  subroutine session_comm(session, comm, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(inout) :: comm
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: computing, status
    computing = int(comm, c_int)
    status = c_session_comm(handle_of(session%inside), computing)
    comm = computing
    call finish(session%inside, 'glean_session_comm', status, stat, errmsg)
  end subroutine session_comm

#ifdef GLEAN_HAVE_MPI_F08
  subroutine open_session_f08(comm, session, settings, stat, errmsg)
    type(MPI_Comm), intent(in) :: comm
    type(glean_session), intent(inout) :: session
    character(len=*), intent(in), optional :: settings(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call open_session(comm%mpi_val, session, settings, stat, errmsg)
  end subroutine open_session_f08

  subroutine session_comm_f08(session, comm, stat, errmsg)
    type(glean_session), intent(in) :: session
    type(MPI_Comm), intent(inout) :: comm
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call session_comm(session, comm%mpi_val, stat, errmsg)
  end subroutine session_comm_f08
#endif

  ! Waits until everything put so far into any output is at `level`; at most `seconds`, or the configured deadline. Collective. Blocks.
  subroutine glean_session_wait(session, level, seconds, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(in) :: level
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(c_double) :: at_most
    at_most = -1
    if (present(seconds)) at_most = seconds
    call finish(session%inside, 'glean_session_wait', c_session_wait(handle_of(session%inside), int(level, c_int), at_most), stat, errmsg)
  end subroutine glean_session_wait

  ! Waits for the drain of closed outputs, prints and writes the report, frees the pool. Collective. Blocks.
  subroutine glean_session_close(session, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(session%inside, 'glean_session_close', c_session_close(handle_of(session%inside)), stat, errmsg)
  end subroutine glean_session_close

  ! Gives the handle back. Outputs and inputs that are given back later say until then that it is closed. Collective unless closed.
  subroutine glean_session_free(session)
    type(glean_session), intent(inout) :: session
    call c_session_free(handle_of(session%inside))
    call forget_state(session%inside)
  end subroutine glean_session_free

  ! Local.
  subroutine glean_session_statistics(session, statistics, stat, errmsg)
    type(glean_session), intent(in) :: session
    type(glean_statistics), intent(out) :: statistics
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_statistics) :: seen
    integer(c_int) :: status
    seen%size = c_sizeof(seen)
    status = c_session_statistics(handle_of(session%inside), seen)
    if (status == GLEAN_OK) then
      statistics = glean_statistics(seen%blocked_seconds, seen%captured_bytes, seen%puts, seen%pool_budget_bytes, &
          seen%pool_high_water_bytes, seen%steps_dropped, seen%spilled_bytes, seen%synchronous_bytes)
    end if
    call finish(session%inside, 'glean_session_statistics', status, stat, errmsg)
  end subroutine glean_session_statistics

  ! Looks at the outputs: `count` is how many there are for glean_session_output. Local.
  subroutine glean_session_outputs(session, count, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(inout) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(session%inside, c_session_outputs, 'glean_session_outputs', count, stat, errmsg)
  end subroutine glean_session_outputs

  ! Output `index`, from 1, of those that glean_session_outputs has looked at. Local.
  subroutine glean_session_output(session, index, status, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(in) :: index
    type(glean_output_status), intent(inout) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_output_status) :: seen
    integer(c_int) :: answer
    seen%size = c_sizeof(seen)
    answer = c_session_output(handle_of(session%inside), int(index, c_size_t) - 1, seen)
    if (answer == GLEAN_OK) then
      status%path = text_of(seen%path)
      status%error = text_of(seen%error)
      status%state = seen%state
      status%steps_ended = seen%steps_ended
      status%steps_staged = seen%steps_staged
      status%steps_written = seen%steps_written
      status%steps_durable = seen%steps_durable
      status%steps_dropped = seen%steps_dropped
    end if
    call finish(session%inside, 'glean_session_output', answer, stat, errmsg)
  end subroutine glean_session_output

  ! What the last failed call with this session said; '' when there was none. Local.
  function glean_session_message(session) result(message)
    type(glean_session), intent(in) :: session
    character(len=:), allocatable :: message
    message = message_of(session%inside)
  end function glean_session_message
end module glean_sessions
