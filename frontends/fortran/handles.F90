! SPDX-License-Identifier: BSD-3-Clause
!
! The handles of the module glean, and what becomes of a failed call. A handle is a reference: its copies mean the same session, output
! or input, and what a call without `stat` has met is kept with it.
module glean_handles
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_null_char, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use glean_values, only: GLEAN_INVALID_ARGUMENT, GLEAN_OK
  use glean_container_calls, only: c_container_message, c_task_file_fail, c_task_file_message, c_task_input_message
  use glean_c_calls, only: c_input_message, c_output_fail, c_output_message, c_session_message, c_strlen
  implicit none
  private
  public :: glean_session, glean_output, glean_input, glean_task_file, glean_container, glean_task_input, handle_state, block_list
  public :: OF_SESSION, OF_OUTPUT, OF_INPUT, OF_TASK_FILE, OF_CONTAINER, OF_TASK_INPUT
  public :: new_state, forget_state, handle_of, finish, finish_opening, refuse, message_of, text_of, c_text

  enum, bind(C)
    enumerator :: OF_SESSION = 1, OF_OUTPUT, OF_INPUT, OF_TASK_FILE, OF_CONTAINER, OF_TASK_INPUT
  end enum

  ! What this rank puts of a variable: (dimensions, blocks), from 0, slowest first, as C has it.
  type :: block_list
    logical :: known = .false.
    logical :: placed = .true.   ! not over an unstructured mesh: where its only block begins all ranks together find out
    integer(int64), allocatable :: start(:, :), count(:, :)
  end type block_list

  type :: handle_state
    integer :: kind = OF_SESSION
    type(c_ptr) :: handle = c_null_ptr   ! of C; null when it could not be opened
    character(len=:), allocatable :: message   ! of the last failed call
    ! The first failure that no `stat` was told of yet, and what was printed last.
    integer :: kept_status = GLEAN_OK
    character(len=:), allocatable :: kept, printed
    type(handle_state), pointer :: session => null()   ! of an output, input or container; of a task of a container that
    ! Of a session: how many outputs and inputs speak of it, and whether it was given back before them.
    integer :: users = 0
    logical :: given_back = .false.
    ! Of an output: its record dimension as C counts, and the blocks of its variables and of the cells and points of its grids.
    integer :: unlimited = -1
    type(block_list), allocatable :: variables(:), cells(:), points(:)
  end type handle_state

  ! For the modules of this folder only; programs have no use for `inside`.
  type :: glean_session
    type(handle_state), pointer :: inside => null()
  end type glean_session

  type :: glean_output
    type(handle_state), pointer :: inside => null()
  end type glean_output

  type :: glean_input
    type(handle_state), pointer :: inside => null()
  end type glean_input

  type :: glean_task_file
    type(handle_state), pointer :: inside => null()
  end type glean_task_file

  type :: glean_container
    type(handle_state), pointer :: inside => null()
  end type glean_container

  type :: glean_task_input
    type(handle_state), pointer :: inside => null()
  end type glean_task_input

contains

  function new_state(kind, session) result(state)
    integer, intent(in) :: kind
    type(handle_state), pointer, intent(in), optional :: session
    type(handle_state), pointer :: state
    allocate (state)
    state%kind = kind
    allocate (state%variables(0), state%cells(0), state%points(0))
    if (.not. present(session)) return
    state%session => session
    session%users = session%users + 1
  end function new_state

  ! What was kept of an output or input, and told to no `stat`, is kept by its session from now on. A session that is given back before
  ! its outputs and inputs lasts as long as they do.
  subroutine forget_state(state)
    type(handle_state), pointer, intent(inout) :: state
    if (.not. associated(state)) return
    if (state%users > 0) then
      state%given_back = .true.
      state%handle = c_null_ptr
    else
      if (associated(state%session)) call leave_session(state)
      deallocate (state)
    end if
    nullify (state)
  end subroutine forget_state

  recursive subroutine leave_session(state)
    type(handle_state), intent(inout) :: state
    if (state%kept_status /= GLEAN_OK .and. state%session%kept_status == GLEAN_OK) then
      state%session%kept_status = state%kept_status
      state%session%kept = state%kept
    end if
    state%session%users = state%session%users - 1
    if (.not. state%session%given_back .or. state%session%users > 0) return
    if (associated(state%session%session)) call leave_session(state%session)   ! it was a container
    deallocate (state%session)
  end subroutine leave_session

  function handle_of(state) result(handle)
    type(handle_state), pointer, intent(in) :: state
    type(c_ptr) :: handle
    handle = c_null_ptr
    if (associated(state)) handle = state%handle
  end function handle_of

  ! What every call ends with. Its failure goes to `stat` and `errmsg`; without `stat` it is printed and kept, for the next call with this
  ! handle that has one. `what` says what is wrong where C has not been asked.
  subroutine finish(state, call, status, stat, errmsg, what)
    type(handle_state), pointer, intent(in) :: state
    character(len=*), intent(in) :: call
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=*), intent(in), optional :: what
    character(len=:), allocatable :: message
    integer :: told

    told = status
    if (status /= GLEAN_OK) then
      message = failure_of(state, what)
      if (associated(state)) state%message = message
      if (present(errmsg)) errmsg = message
      if (.not. present(stat)) call keep(state, call, told, message)
    end if
    if (.not. present(stat)) return
    if (associated(state)) call tell_kept(state, told, errmsg)
    stat = told
  end subroutine finish

  ! What a call ends with that has made a new handle of a session or a container. Where it has failed, C has left its message there.
  subroutine finish_opening(state, call, status, stat, errmsg)
    type(handle_state), pointer, intent(in) :: state
    character(len=*), intent(in) :: call
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg

    if (status == GLEAN_OK) then
      call finish(state, call, status, stat, errmsg)
    else
      state%session%message = failure_of(state%session)
      call finish(state, call, status, stat, errmsg, state%session%message)
    end if
  end subroutine finish_opening

  ! What the modules of this folder refuse, the library has to know of, so that all ranks are told why and nothing incomplete is published.
  subroutine refuse(state, call, wrong, stat, errmsg)
    type(handle_state), pointer, intent(in) :: state
    character(len=*), intent(in) :: call, wrong
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    if (associated(state)) then
      if (state%kind == OF_TASK_FILE) then
        status = c_task_file_fail(state%handle, GLEAN_INVALID_ARGUMENT, c_text(wrong))
      else
        status = c_output_fail(state%handle, GLEAN_INVALID_ARGUMENT, c_text(wrong))
      end if
    end if
    call finish(state, call, GLEAN_INVALID_ARGUMENT, stat, errmsg, wrong)
  end subroutine refuse

  subroutine keep(state, call, status, message)
    type(handle_state), pointer, intent(in) :: state
    character(len=*), intent(in) :: call, message
    integer, intent(in) :: status
    character(len=:), allocatable :: line

    line = call//': '//message
    if (associated(state)) then
      if (state%kept_status == GLEAN_OK) then
        state%kept_status = status
        state%kept = line
      end if
      ! A loop that goes on putting what cannot be put says so once.
      if (allocated(state%printed)) then
        if (state%printed == line) return
      end if
      state%printed = line
    end if
    write (error_unit, '(a)') 'glean: error: '//line
    flush (error_unit)
  end subroutine keep

  ! The call is told its own failure, or else the kept one; it has heard of both then.
  subroutine tell_kept(state, status, errmsg)
    type(handle_state), intent(inout) :: state
    integer, intent(inout) :: status
    character(len=*), intent(inout), optional :: errmsg
    if (state%kept_status == GLEAN_OK) return
    if (status == GLEAN_OK) then
      status = state%kept_status
      if (present(errmsg)) errmsg = state%kept
    else if (present(errmsg)) then
      errmsg = trim(errmsg)//' (before that, '//state%kept//')'
    end if
    state%kept_status = GLEAN_OK
  end subroutine tell_kept

  function failure_of(state, what) result(message)
    type(handle_state), pointer, intent(in) :: state
    character(len=*), intent(in), optional :: what
    character(len=:), allocatable :: message
    if (present(what)) then
      message = what
    else if (.not. associated(state)) then
      message = 'the handle is not open, or was given back'
    else if (.not. c_associated(state%handle)) then
      message = 'the handle is not open, because opening it has failed'
    else
      select case (state%kind)
      case (OF_SESSION)
        message = text_of(c_session_message(state%handle))
      case (OF_OUTPUT)
        message = text_of(c_output_message(state%handle))
      case (OF_TASK_FILE)
        message = text_of(c_task_file_message(state%handle))
      case (OF_CONTAINER)
        message = text_of(c_container_message(state%handle))
      case (OF_TASK_INPUT)
        message = text_of(c_task_input_message(state%handle))
      case default
        message = text_of(c_input_message(state%handle))
      end select
    end if
  end function failure_of

  ! What the last failed call with this handle said; '' when there was none.
  function message_of(state) result(message)
    type(handle_state), pointer, intent(in) :: state
    character(len=:), allocatable :: message
    message = ''
    if (.not. associated(state)) return
    if (allocated(state%message)) message = state%message
  end function message_of

  function text_of(from) result(text)
    type(c_ptr), intent(in) :: from
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i, length
    text = ''
    if (.not. c_associated(from)) return
    length = int(c_strlen(from))
    call c_f_pointer(from, characters, [length])
    deallocate (text)
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function text_of

  ! As C wants it: without the blanks that fill a Fortran text up.
  function c_text(text) result(terminated)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: terminated
    terminated = trim(text)//c_null_char
  end function c_text
end module glean_handles
