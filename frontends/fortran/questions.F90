! SPDX-License-Identifier: BSD-3-Clause
!
! Calls that ask a handle for one number, or for yes or no. The answer is not touched where there is none.
module glean_questions
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int64
  use glean_values, only: GLEAN_OK
  use glean_handles
  implicit none
  private
  public :: ask

  interface ask
    module procedure ask_count, ask_bytes, ask_whether
  end interface

  abstract interface
    integer(c_int) function question_of_count(handle, answer) bind(C)
      import
      type(c_ptr), value :: handle
      integer(c_size_t), intent(inout) :: answer
    end function
    integer(c_int) function question_of_bytes(handle, answer) bind(C)
      import
      type(c_ptr), value :: handle
      integer(c_int64_t), intent(inout) :: answer
    end function
    integer(c_int) function question_whether(handle, answer) bind(C)
      import
      type(c_ptr), value :: handle
      integer(c_int), intent(inout) :: answer
    end function
  end interface

contains

  subroutine ask_count(state, question, call, answer, stat, errmsg)
    type(handle_state), pointer, intent(in) :: state
    procedure(question_of_count) :: question
    character(len=*), intent(in) :: call
    integer, intent(inout) :: answer
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_size_t) :: seen
    integer(c_int) :: status
    seen = 0
    status = question(handle_of(state), seen)
    if (status == GLEAN_OK) answer = int(seen)
    call finish(state, call, status, stat, errmsg)
  end subroutine ask_count

  subroutine ask_bytes(state, question, call, answer, stat, errmsg)
    type(handle_state), pointer, intent(in) :: state
    procedure(question_of_bytes) :: question
    character(len=*), intent(in) :: call
    integer(int64), intent(inout) :: answer
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: seen
    integer(c_int) :: status
    seen = 0
    status = question(handle_of(state), seen)
    if (status == GLEAN_OK) answer = seen
    call finish(state, call, status, stat, errmsg)
  end subroutine ask_bytes

  subroutine ask_whether(state, question, call, answer, stat, errmsg)
    type(handle_state), pointer, intent(in) :: state
    procedure(question_whether) :: question
    character(len=*), intent(in) :: call
    logical, intent(inout) :: answer
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: seen
    integer(c_int) :: status
    seen = 0
    status = question(handle_of(state), seen)
    if (status == GLEAN_OK) answer = seen /= 0
    call finish(state, call, status, stat, errmsg)
  end subroutine ask_whether
end module glean_questions
