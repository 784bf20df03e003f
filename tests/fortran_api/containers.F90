! SPDX-License-Identifier: BSD-3-Clause
!
! Every call for containers, on any number of ranks. Argument: a directory for the files.
program containers
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  implicit none
  integer, parameter :: values = 200
  type(glean_session) :: session
  character(len=1000) :: directory
  character(len=:), allocatable :: path

  call start_ranks()
  call get_command_argument(1, directory)
  path = trim(directory)//'/fortran_'//number(ranks)//'.sion'
  call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
  call ok('open a session')
  call a_container_is_written()
  call it_is_read()
  call what_cannot_be_is_refused()
  call glean_session_close(session, stat, errmsg)
  call ok('close the session')
  call glean_session_free(session)
  call it_is_read()
  call end_ranks()

contains

  function number(value) result(text)
    integer, intent(in) :: value
    character(len=:), allocatable :: text
    character(len=12) :: digits
    write (digits, '(i0)') value
    text = trim(digits)
  end function number

  function field(of_rank) result(all)
    integer, intent(in) :: of_rank
    real(real64) :: all(values)
    integer :: i
    all = [(1000d0 * of_rank + i, i=1, values)]
  end function field

  subroutine a_container_is_written()
    type(glean_task_file) :: out
    integer(int64) :: room, position
    real(real64) :: wide(2, values)

    call glean_container_create(session, path, out, chunk_bytes=1900_int64, files=min(2, ranks), block_bytes=512_int64, &
        tasks_per_writer=1, name='field'//number(me), stat=stat, errmsg=errmsg)
    call ok('create a container')
    call glean_task_file_bytes_avail_in_block(out, room, stat, errmsg)
    call ok('ask for the room')
    call expect(room == 4 * 512 - 64, 'a chunk has the room that it was given')
    call glean_task_file_write(out, field(me), stat, errmsg)
    call ok('write an array')
    call glean_task_file_begin_file(out, 'rest'//number(me), stat, errmsg)
    call ok('begin a file')
    call glean_task_file_ensure_free_space(out, 1700_int64, stat, errmsg)
    call ok('ask for space')
    wide = 0
    wide(1, :) = field(me + 7)
    call glean_task_file_write(out, wide(1, :), stat, errmsg)
    call ok('write a section')
    call glean_task_file_write(out, 'text', stat, errmsg)
    call ok('write a text')
    call glean_task_file_write(out, 4711_int32, stat, errmsg)
    call ok('write a number')
    call glean_task_file_position(out, position, stat, errmsg)
    call ok('ask how much it is')
    call expect(position == 16 * values + 8, 'all is counted')
    call glean_task_file_ensure_free_space(out, room + 1, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'do not fit', 'more space than a chunk has')
    call expect(index(glean_task_file_message(out), 'do not fit') > 0, 'the message stays with the handle')
    call glean_task_file_wait(out, GLEAN_WRITTEN, stat, errmsg)
    call ok('wait until it is written')
    call glean_task_file_close(out, stat, errmsg)
    call ok('close it')
    call glean_task_file_wait(out, GLEAN_DURABLE, stat, errmsg)
    call ok('wait until it is there')
    call glean_task_file_free(out)
  end subroutine a_container_is_written

  subroutine it_is_read()
    type(glean_container) :: all
    type(glean_task_input) :: in, file
    type(glean_container_task_description) :: task
    type(glean_container_file_description) :: described
    integer :: tasks, files
    integer(int64) :: position, bytes, left, done
    integer(int32) :: last
    logical :: complete, at_end
    real(real64) :: back(values), wide(2, values)
    character(len=4) :: text

    call glean_container_open(session, path, all, stat, errmsg)
    call ok('open a container')
    call glean_container_tasks(all, tasks, stat, errmsg)
    call ok('count the tasks')
    call glean_container_files(all, files, stat, errmsg)
    call ok('count the files')
    call glean_container_is_complete(all, complete, stat, errmsg)
    call ok('ask whether it is complete')
    call expect(tasks == ranks .and. files == 2 * ranks .and. complete, 'all is there')
    call glean_container_task(all, me + 1, task, stat, errmsg)
    call ok('describe a task')
    call expect(task%task == me .and. task%chunks == 2 .and. task%bytes == 16 * values + 8, 'a task is described')
    call glean_container_file(all, 2 * me + 2, described, stat, errmsg)
    call ok('describe a file')
    call expect(described%name == 'rest'//number(me) .and. described%task == me, 'a file is described')
    call expect(described%begin == 8 * values .and. described%bytes == 8 * values + 8, 'it is known where a file is')
    call glean_container_task(all, 0, task, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'from 1', 'task 0')
    call glean_container_file(all, 2 * ranks + 1, described, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'logical file', 'a file behind the last one')
    call expect(index(glean_container_message(all), 'logical file') > 0, 'the message stays with the container')

    call glean_container_open_task(all, me, in, stat, errmsg)
    call ok('open a task')
    call glean_container_open_file(all, 'rest'//number(me), file, stat, errmsg)
    call ok('open a file')
    call glean_container_free(all)   ! before what was opened of it
    call glean_task_input_read(in, back, stat=stat, errmsg=errmsg)
    call ok('read an array')
    call expect(all_equal(back, field(me)), 'the array is back')
    call glean_task_input_position(in, position, stat, errmsg)
    call ok('ask where it is')
    call glean_task_input_bytes(in, bytes, stat, errmsg)
    call ok('ask how long it is')
    call expect(position == 8 * values .and. bytes == 16 * values + 8, 'places are counted in bytes')

    wide = -1
    call glean_task_input_read(file, wide(2, :), stat=stat, errmsg=errmsg)
    call ok('read into a section')
    call expect(all_equal(wide(2, :), field(me + 7)) .and. all_equal(wide(1, :), [real(real64) :: spread(-1d0, 1, values)]), &
        'the section is back, and nothing else')
    call glean_task_input_read(file, text, stat=stat, errmsg=errmsg)
    call ok('read a text')
    call glean_task_input_read(file, last, stat=stat, errmsg=errmsg)
    call ok('read a number')
    call expect(text == 'text' .and. last == 4711, 'text and number are back')
    call glean_task_input_eof(file, at_end, stat, errmsg)
    call ok('ask for the end')
    call expect(at_end, 'the end is there')
    call glean_task_input_read(file, last, done, stat, errmsg)
    call ok('read behind the end')
    call expect(done == 0, 'nothing is behind the end')
    call glean_task_input_read(file, last, stat=stat, errmsg=errmsg)
    call failed(GLEAN_OUT_OF_RANGE, 'not as many', 'reading behind the end without asking how much')
    call glean_task_input_seek_chunk(in, 2_int64, 8_int64, stat, errmsg)
    call ok('go to a chunk')
    call glean_task_input_bytes_avail_in_block(in, left, stat, errmsg)
    call ok('ask what is left of it')
    call expect(left == 8 * values + 8 - 8, 'the second array is in a chunk of its own')
    call glean_task_input_seek(in, 8_int64, stat, errmsg)
    call ok('go to a place')
    call glean_task_input_read(in, back(1), stat=stat, errmsg=errmsg)
    call ok('read there')
    call expect(all_equal(back(1:1), [1000d0 * me + 2]), 'the second number is at byte 8')
    call glean_task_input_seek(in, bytes + 1, stat, errmsg)
    call failed(GLEAN_OUT_OF_RANGE, 'there is no byte', 'a place behind the end')
    call expect(index(glean_task_input_message(in), 'there is no byte') > 0, 'the message stays with the task')
    call glean_task_input_free(in)
    call glean_task_input_free(file)
  end subroutine it_is_read

  logical function all_equal(one, other)
    real(real64), intent(in) :: one(:), other(:)
    all_equal = maxval(abs(one - other)) < 0.5d0
  end function all_equal

  subroutine what_cannot_be_is_refused()
    type(glean_task_file) :: out
    type(glean_container) :: all
    type(glean_task_input) :: missing
    character(len=1000) :: text
    integer :: unit
    call glean_container_create(session, path, out, files=ranks + 1, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'tasks cannot be in', 'more files than ranks')
    call glean_task_file_free(out)
    call glean_container_create(session, path, out, stat=stat, errmsg=errmsg)
    call ok('create a container that fails')
    if (me == 0) then
      call glean_task_file_fail(out, GLEAN_UNSUPPORTED, 'of another shape', stat, errmsg)
      call ok('say that it fails')
    end if
    call glean_task_file_close(out, stat, errmsg)
    call failed(GLEAN_UNSUPPORTED, 'of another shape', 'closing what has failed')
    call glean_task_file_free(out)
    call glean_container_open(session, path//'.none', all, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, '.none', 'a container that is not there')
    call glean_container_open_task(all, 0, missing, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'opening it has failed', 'a task of a container that is not there')
    call glean_task_input_free(missing)
    call glean_container_free(all)
    write (text, '(a, i0, a)') path//'.', me, '.txt'
    open (newunit=unit, file=trim(text), status='replace')
    write (unit, '(a)') 'a text'
    close (unit)
    call glean_container_open(session, trim(text), all, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'it is not a container', 'a text that is opened as a container')
    call glean_container_free(all)
    open (newunit=unit, file=trim(text), status='old')
    close (unit, status='delete')
    call glean_container_open(session, path, all, stat, errmsg)
    call ok('open the one that is there')
    call glean_container_open_task(all, 4711, missing, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, '4711', 'a task that is not there')
    call expect(index(glean_container_message(all), '4711') > 0, 'the message stays with the container, too')
    call glean_task_input_free(missing)
    call glean_container_open_file(all, 'missing', missing, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'missing', 'a logical file that is not there')
    call expect(index(glean_container_message(all), 'missing') > 0, 'the newer message stays with it')
    call glean_task_input_free(missing)
    call glean_container_free(all)
  end subroutine what_cannot_be_is_refused
end program containers
