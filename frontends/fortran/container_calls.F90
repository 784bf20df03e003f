! SPDX-License-Identifier: BSD-3-Clause
!
! The calls of glean/container.h as they are in C. Only the modules of this folder use it.
module glean_container_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_null_ptr, c_ptr, c_size_t
  implicit none
  public

  type, bind(C) :: c_container_options
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: chunk_bytes = 0
    integer(c_int) :: files = 0
    integer(c_int64_t) :: block_bytes = 0
    integer(c_int) :: tasks_per_writer = 0
    type(c_ptr) :: name = c_null_ptr
  end type c_container_options

  type, bind(C) :: c_task_description
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: task = 0, chunks = 0, bytes = 0
  end type c_task_description

  type, bind(C) :: c_file_description
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int64_t) :: task = 0, begin = 0, bytes = 0
  end type c_file_description

  interface
    integer(c_int) function c_container_create(session, path, options, task_file) bind(C, name='glean_container_create')
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      type(c_container_options), intent(in) :: options
      type(c_ptr), intent(inout) :: task_file
    end function
    integer(c_int) function c_task_file_begin_file(task_file, name) bind(C, name='glean_task_file_begin_file')
      import
      type(c_ptr), value :: task_file
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_task_file_write(task_file, data, bytes) bind(C, name='glean_task_file_write')
      import
      type(c_ptr), value :: task_file
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_task_file_fail(task_file, status, why) bind(C, name='glean_task_file_fail')
      import
      type(c_ptr), value :: task_file
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: why(*)
    end function
    integer(c_int) function c_task_file_ensure_free_space(task_file, bytes) bind(C, name='glean_task_file_ensure_free_space')
      import
      type(c_ptr), value :: task_file
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int) function c_task_file_bytes_avail_in_block(task_file, bytes) bind(C, name='glean_task_file_bytes_avail_in_block')
      import
      type(c_ptr), value :: task_file
      integer(c_int64_t), intent(inout) :: bytes
    end function
    integer(c_int) function c_task_file_position(task_file, position) bind(C, name='glean_task_file_position')
      import
      type(c_ptr), value :: task_file
      integer(c_int64_t), intent(inout) :: position
    end function
    integer(c_int) function c_task_file_wait(task_file, level) bind(C, name='glean_task_file_wait')
      import
      type(c_ptr), value :: task_file
      integer(c_int), value :: level
    end function
    integer(c_int) function c_task_file_close(task_file) bind(C, name='glean_task_file_close')
      import
      type(c_ptr), value :: task_file
    end function
    integer(c_int) function c_container_open(session, path, container, message, message_bytes) bind(C, name='glean_container_open')
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: container
      character(kind=c_char), intent(inout) :: message(*)
      integer(c_size_t), value :: message_bytes
    end function
    integer(c_int) function c_container_tasks(container, count) bind(C, name='glean_container_tasks')
      import
      type(c_ptr), value :: container
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_container_task(container, index, description) bind(C, name='glean_container_task')
      import
      type(c_ptr), value :: container
      integer(c_size_t), value :: index
      type(c_task_description), intent(inout) :: description
    end function
    integer(c_int) function c_container_files(container, count) bind(C, name='glean_container_files')
      import
      type(c_ptr), value :: container
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_container_file(container, index, description) bind(C, name='glean_container_file')
      import
      type(c_ptr), value :: container
      integer(c_size_t), value :: index
      type(c_file_description), intent(inout) :: description
    end function
    integer(c_int) function c_container_is_complete(container, is_complete) bind(C, name='glean_container_is_complete')
      import
      type(c_ptr), value :: container
      integer(c_int), intent(inout) :: is_complete
    end function
    integer(c_int) function c_container_open_task(container, task, input) bind(C, name='glean_container_open_task')
      import
      type(c_ptr), value :: container
      integer(c_int64_t), value :: task
      type(c_ptr), intent(inout) :: input
    end function
    integer(c_int) function c_container_open_file(container, name, input) bind(C, name='glean_container_open_file')
      import
      type(c_ptr), value :: container
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: input
    end function
    integer(c_int) function c_task_input_read(input, data, bytes, done) bind(C, name='glean_task_input_read')
      import
      type(c_ptr), value :: input
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(inout) :: done
    end function
    integer(c_int) function c_task_input_seek(input, position) bind(C, name='glean_task_input_seek')
      import
      type(c_ptr), value :: input
      integer(c_int64_t), value :: position
    end function
    integer(c_int) function c_task_input_seek_chunk(input, chunk, position) bind(C, name='glean_task_input_seek_chunk')
      import
      type(c_ptr), value :: input
      integer(c_int64_t), value :: chunk
      integer(c_int64_t), value :: position
    end function
    integer(c_int) function c_task_input_position(input, position) bind(C, name='glean_task_input_position')
      import
      type(c_ptr), value :: input
      integer(c_int64_t), intent(inout) :: position
    end function
    integer(c_int) function c_task_input_bytes(input, bytes) bind(C, name='glean_task_input_bytes')
      import
      type(c_ptr), value :: input
      integer(c_int64_t), intent(inout) :: bytes
    end function
    integer(c_int) function c_task_input_eof(input, is_at_end) bind(C, name='glean_task_input_eof')
      import
      type(c_ptr), value :: input
      integer(c_int), intent(inout) :: is_at_end
    end function
    integer(c_int) function c_task_input_bytes_avail_in_block(input, bytes) bind(C, name='glean_task_input_bytes_avail_in_block')
      import
      type(c_ptr), value :: input
      integer(c_int64_t), intent(inout) :: bytes
    end function
    type(c_ptr) function c_task_file_message(task_file) bind(C, name='glean_task_file_message')
      import
      type(c_ptr), value :: task_file
    end function
    subroutine c_task_file_free(task_file) bind(C, name='glean_task_file_free')
      import
      type(c_ptr), value :: task_file
    end subroutine
    type(c_ptr) function c_container_message(container) bind(C, name='glean_container_message')
      import
      type(c_ptr), value :: container
    end function
    subroutine c_container_free(container) bind(C, name='glean_container_free')
      import
      type(c_ptr), value :: container
    end subroutine
    type(c_ptr) function c_task_input_message(task_input) bind(C, name='glean_task_input_message')
      import
      type(c_ptr), value :: task_input
    end function
    subroutine c_task_input_free(task_input) bind(C, name='glean_task_input_free')
      import
      type(c_ptr), value :: task_input
    end subroutine
  end interface
end module glean_container_calls
