! SPDX-License-Identifier: BSD-3-Clause
!
! What triggers, and analyses of the user's own, tell the program.
module glean_messages
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_null_ptr, c_ptr, c_size_t, c_sizeof
  use glean_values
  use glean_handles
  use glean_questions
  implicit none
  private
  public :: glean_poll_messages, glean_polled_message

  type, bind(C) :: c_message
    integer(c_size_t) :: size = 0
    type(c_ptr) :: text = c_null_ptr, output = c_null_ptr
    integer(c_int64_t) :: step = 0
  end type c_message

  interface
    integer(c_int) function c_poll_messages(session, count) bind(C, name='glean_poll_messages')
      import
      type(c_ptr), value :: session
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_polled_message(session, index, message) bind(C, name='glean_polled_message')
      import
      type(c_ptr), value :: session
      integer(c_size_t), value :: index
      type(c_message), intent(inout) :: message
    end function
  end interface

contains

  ! What has been told since this rank asked last: `count` is how many there are for glean_polled_message. Local.
  subroutine glean_poll_messages(session, count, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(inout) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(session%inside, c_poll_messages, 'glean_poll_messages', count, stat, errmsg)
  end subroutine glean_poll_messages

  ! Message `index`, from 1, of those. Local.
  subroutine glean_polled_message(session, index, message, stat, errmsg)
    type(glean_session), intent(in) :: session
    integer, intent(in) :: index
    type(glean_message), intent(inout) :: message
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_message) :: seen
    integer(c_int) :: answer
    seen%size = c_sizeof(seen)
    answer = c_polled_message(handle_of(session%inside), int(index, c_size_t) - 1, seen)
    if (answer == GLEAN_OK) then
      message%text = text_of(seen%text)
      message%output = text_of(seen%output)
      message%step = seen%step
    end if
    call finish(session%inside, 'glean_polled_message', answer, stat, errmsg)
  end subroutine glean_polled_message

end module glean_messages
