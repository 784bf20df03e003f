! SPDX-License-Identifier: BSD-3-Clause
!
! What a rank writes of a container, and what is read of one: streams of bytes. task_kind.inc has the calls for one kind.
module glean_tasks
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_loc, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use glean_values
  use glean_handles
  use glean_questions
  use glean_container_calls
  use glean_sections
  implicit none
  private
  public :: glean_task_file_begin_file, glean_task_file_write, glean_task_file_fail, glean_task_file_ensure_free_space
  public :: glean_task_file_bytes_avail_in_block, glean_task_file_position, glean_task_file_wait, glean_task_file_close
  public :: glean_task_file_message, glean_task_file_free
  public :: glean_task_input_read, glean_task_input_seek, glean_task_input_seek_chunk, glean_task_input_position, glean_task_input_bytes
  public :: glean_task_input_eof, glean_task_input_bytes_avail_in_block, glean_task_input_message, glean_task_input_free

  ! Appends the bytes of a value, or of an array of any rank, as a file for stream access has them. One memory copy, of a section with gaps
  ! two. Local.
  interface glean_task_file_write
    module procedure write_int8, write_int16, write_int32, write_int64, write_real32, write_real64, write_text
  end interface

  ! Reads what follows into a value, or an array of any rank. `done`: how many bytes there were, fewer than there is room for only at the
  ! end, which without `done` is an error. Local. Blocks for storage.
  interface glean_task_input_read
    module procedure read_int8, read_int16, read_int32, read_int64, read_real32, read_real64, read_text
  end interface

contains

#define JOIN(first) first

#define KIND integer(int8)
#define NAME int8
#define BYTES 1_int64
#define LENGTH -1_int64
#include "task_kind.inc"
#define KIND integer(int16)
#define NAME int16
#define BYTES 2_int64
#define LENGTH -1_int64
#include "task_kind.inc"
#define KIND integer(int32)
#define NAME int32
#define BYTES 4_int64
#define LENGTH -1_int64
#include "task_kind.inc"
#define KIND integer(int64)
#define NAME int64
#define BYTES 8_int64
#define LENGTH -1_int64
#include "task_kind.inc"
#define KIND real(real32)
#define NAME real32
#define BYTES 4_int64
#define LENGTH -1_int64
#include "task_kind.inc"
#define KIND real(real64)
#define NAME real64
#define BYTES 8_int64
#define LENGTH -1_int64
#include "task_kind.inc"
#define KIND character(len=*)
#define NAME text
#define BYTES 1_int64
#define LENGTH int(len(data), int64)
#include "task_kind.inc"

  subroutine write_section(task_file, section, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    type(c_section), intent(in) :: section
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int8), allocatable, target :: packed(:)
    type(c_ptr) :: from
    if (section%sized == 0) then
      call refuse(task_file%inside, 'glean_task_file_write', 'an assumed-size array has no shape: give a section of it', stat, errmsg)
      return
    end if
    from = section%first
    if (section%contiguous == 0) then
      allocate (packed(max(section%elements, 1_int64) * section%element_bytes))
      from = c_loc(packed)
      call gather(section, from)
    end if
    call finish(task_file%inside, 'glean_task_file_write', &
        c_task_file_write(handle_of(task_file%inside), from, int(section%elements * section%element_bytes, c_size_t)), stat, errmsg)
  end subroutine write_section

  subroutine read_section(input, section, done, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    type(c_section), intent(in) :: section
    integer(int64), intent(inout), optional :: done
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int8), allocatable, target :: packed(:)
    integer(c_size_t) :: there, room
    integer(c_int) :: status
    type(c_ptr) :: to
    if (section%sized == 0) then
      call finish(input%inside, 'glean_task_input_read', GLEAN_INVALID_ARGUMENT, stat, errmsg, &
          'an assumed-size array has no shape: give a section of it')
      return
    end if
    to = section%first
    room = int(section%elements * section%element_bytes, c_size_t)
    if (section%contiguous == 0) then
      allocate (packed(max(room, 1_c_size_t)))
      to = c_loc(packed)
      call gather(section, to)   ! what is not read stays
    end if
    there = 0
    status = c_task_input_read(handle_of(input%inside), to, room, there)
    if (status == GLEAN_OK .and. section%contiguous == 0) call scatter(section, to)
    if (status == GLEAN_OK .and. present(done)) done = int(there, int64)
    if (status == GLEAN_OK .and. .not. present(done) .and. there < room) then
      call finish(input%inside, 'glean_task_input_read', GLEAN_OUT_OF_RANGE, stat, errmsg, 'there are not as many bytes left')
      return
    end if
    call finish(input%inside, 'glean_task_input_read', status, stat, errmsg)
  end subroutine read_section

  ! What is written from now on is the logical file of that name, the only one of it in the container. Local.
  subroutine glean_task_file_begin_file(task_file, name, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(task_file%inside, 'glean_task_file_begin_file', &
        c_task_file_begin_file(handle_of(task_file%inside), c_text(name)), stat, errmsg)
  end subroutine glean_task_file_begin_file

  ! For what the program refuses by itself: as if a write of this rank had failed with `status` and `why`. Local.
  subroutine glean_task_file_fail(task_file, status, why, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    integer, intent(in) :: status
    character(len=*), intent(in) :: why
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(task_file%inside, 'glean_task_file_fail', &
        c_task_file_fail(handle_of(task_file%inside), int(status, c_int), c_text(why)), stat, errmsg)
  end subroutine glean_task_file_fail

  ! The next `bytes` bytes will be in one chunk. Local.
  subroutine glean_task_file_ensure_free_space(task_file, bytes, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    integer(int64), intent(in) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(task_file%inside, 'glean_task_file_ensure_free_space', &
        c_task_file_ensure_free_space(handle_of(task_file%inside), int(bytes, c_int64_t)), stat, errmsg)
  end subroutine glean_task_file_ensure_free_space

  ! For how many more bytes this chunk has room. Local.
  subroutine glean_task_file_bytes_avail_in_block(task_file, bytes, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    integer(int64), intent(inout) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(task_file%inside, c_task_file_bytes_avail_in_block, 'glean_task_file_bytes_avail_in_block', bytes, stat, errmsg)
  end subroutine glean_task_file_bytes_avail_in_block

  ! How many bytes this rank has written. Local.
  subroutine glean_task_file_position(task_file, position, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    integer(int64), intent(inout) :: position
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(task_file%inside, c_task_file_position, 'glean_task_file_position', position, stat, errmsg)
  end subroutine glean_task_file_position

  ! Waits until what all ranks have written so far is at `level`. Collective. Blocks.
  subroutine glean_task_file_wait(task_file, level, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    integer, intent(in) :: level
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(task_file%inside, 'glean_task_file_wait', c_task_file_wait(handle_of(task_file%inside), int(level, c_int)), stat, errmsg)
  end subroutine glean_task_file_wait

  ! No more writes: the container is completed and published in the background. Collective. Blocks for the other ranks.
  subroutine glean_task_file_close(task_file, stat, errmsg)
    type(glean_task_file), intent(in) :: task_file
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(task_file%inside, 'glean_task_file_close', c_task_file_close(handle_of(task_file%inside)), stat, errmsg)
  end subroutine glean_task_file_close

  ! What the last failed call with this handle said; '' when there was none. Local.
  function glean_task_file_message(task_file) result(message)
    type(glean_task_file), intent(in) :: task_file
    character(len=:), allocatable :: message
    message = message_of(task_file%inside)
  end function glean_task_file_message

  ! Gives the handle back. Without glean_task_file_close before, the container is abandoned. Local.
  subroutine glean_task_file_free(task_file)
    type(glean_task_file), intent(inout) :: task_file
    call c_task_file_free(handle_of(task_file%inside))
    call forget_state(task_file%inside)
  end subroutine glean_task_file_free

  ! Goes to where `position` bytes are before it. Local.
  subroutine glean_task_input_seek(input, position, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    integer(int64), intent(in) :: position
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(input%inside, 'glean_task_input_seek', c_task_input_seek(handle_of(input%inside), int(position, c_int64_t)), stat, errmsg)
  end subroutine glean_task_input_seek

  ! The same within a chunk; chunks count from 1. Local.
  subroutine glean_task_input_seek_chunk(input, chunk, position, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    integer(int64), intent(in) :: chunk, position
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(input%inside, 'glean_task_input_seek_chunk', &
        c_task_input_seek_chunk(handle_of(input%inside), int(chunk - 1, c_int64_t), int(position, c_int64_t)), stat, errmsg)
  end subroutine glean_task_input_seek_chunk

  ! How many bytes are before it. Local.
  subroutine glean_task_input_position(input, position, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    integer(int64), intent(inout) :: position
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(input%inside, c_task_input_position, 'glean_task_input_position', position, stat, errmsg)
  end subroutine glean_task_input_position

  ! How many bytes there are in all. Local.
  subroutine glean_task_input_bytes(input, bytes, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    integer(int64), intent(inout) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(input%inside, c_task_input_bytes, 'glean_task_input_bytes', bytes, stat, errmsg)
  end subroutine glean_task_input_bytes

  ! Whether it is at the end. Local.
  subroutine glean_task_input_eof(input, is_at_end, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    logical, intent(inout) :: is_at_end
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(input%inside, c_task_input_eof, 'glean_task_input_eof', is_at_end, stat, errmsg)
  end subroutine glean_task_input_eof

  ! How many bytes follow in the same chunk; 0 only at the end. Local.
  subroutine glean_task_input_bytes_avail_in_block(input, bytes, stat, errmsg)
    type(glean_task_input), intent(in) :: input
    integer(int64), intent(inout) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(input%inside, c_task_input_bytes_avail_in_block, 'glean_task_input_bytes_avail_in_block', bytes, stat, errmsg)
  end subroutine glean_task_input_bytes_avail_in_block

  ! What the last failed call with this handle said; '' when there was none. Local.
  function glean_task_input_message(input) result(message)
    type(glean_task_input), intent(in) :: input
    character(len=:), allocatable :: message
    message = message_of(input%inside)
  end function glean_task_input_message

  ! Gives the handle back. Local.
  subroutine glean_task_input_free(input)
    type(glean_task_input), intent(inout) :: input
    call c_task_input_free(handle_of(input%inside))
    call forget_state(input%inside)
  end subroutine glean_task_input_free
end module glean_tasks
