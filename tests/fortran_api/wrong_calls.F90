! SPDX-License-Identifier: BSD-3-Clause
!
! Calls that must fail do, say why, and end nothing. Argument: a directory for the files. wrong_test.py looks at what is printed.
program wrong_calls
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  implicit none
  type(glean_session) :: session
  character(len=1000) :: directory

  call start_ranks()
  call get_command_argument(1, directory)
  call what_is_not_open_is_said()
  call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
  call ok('open a session')
  call nothing_is_told_without_a_trigger()
  call outputs_that_cannot_be_opened()
  call definitions_that_cannot_be()
  call shapes_and_ranks_that_do_not_fit()
  call other_ranks_that_do_fit()
  call what_one_rank_refuses_all_are_told()
  call failures_without_stat_are_kept()
  call what_an_output_kept_goes_to_its_session()
  call reads_that_do_not_fit()
  call a_closed_session_refuses()
  call end_ranks()

contains

  function file(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path
    path = trim(directory)//'/wrong_'//name//'.nc'
  end function file

  subroutine nothing_is_told_without_a_trigger()
    type(glean_message) :: message
    integer :: count
    call glean_poll_messages(session, count, stat, errmsg)
    call ok('ask for messages')
    call expect(count == 0, 'there is no message')
    call glean_polled_message(session, 1, message, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'no message', 'a message that is not there')
  end subroutine nothing_is_told_without_a_trigger

  subroutine what_is_not_open_is_said()
    type(glean_session) :: never
    type(glean_output) :: out
    type(glean_input) :: in
    type(glean_dimension) :: x
    integer :: count
    call glean_session_wait(never, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not open', 'a session that was never opened')
    call glean_output_open(never, file('never'), GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not open', 'an output of it')
    call glean_output_define_dimension(out, 'x', 3, x, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not open', 'a dimension of what is no output')
    call glean_output_put(out, glean_variable(1), [1, 2, 3], stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not open', 'a put into what is no output')
    call glean_input_variables(in, count, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not open', 'what is no input')
    call expect(glean_session_message(never) == '' .and. glean_output_message(out) == '', 'what is not open has no message')
    call glean_output_free(out)
    call glean_input_free(in)
    call glean_session_free(never)
  end subroutine what_is_not_open_is_said

  subroutine outputs_that_cannot_be_opened()
    type(glean_output) :: out
    character(len=20) :: short
    call glean_output_open(session, '/no/such/directory/x.nc', GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
    call expect(stat /= 0 .and. index(errmsg, '/no/such/directory') > 0, 'a directory that is not there is named')
    call expect(index(glean_session_message(session), '/no/such/directory') > 0, 'the session has the message')
    call glean_output_begin_step(out, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'opening it has failed', 'a step of what could not be opened')
    call glean_output_free(out)
    call glean_output_open(session, file('format'), merge(17, GLEAN_CDF5, me == ranks - 1), out, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'a format that is wrong on one rank fails on all')
    call glean_output_free(out)
    short = 'x'
    call glean_output_open(session, '', GLEAN_CDF5, out, stat=stat, errmsg=short)
    call expect(stat /= 0 .and. short /= 'x', 'a message is cut where there is no room for it')
    call glean_output_free(out)
  end subroutine outputs_that_cannot_be_opened

  subroutine definitions_that_cannot_be()
    type(glean_output) :: out
    type(glean_dimension) :: x, y
    type(glean_variable) :: v
    type(glean_grid) :: grid
    integer :: four(4)
    call glean_output_open(session, file('definitions'), GLEAN_CDF5, out)
    call glean_output_define_dimension(out, 'x', -1, x, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'negative', 'a negative length')
    call glean_output_define_dimension(out, 'x', 4, x)
    call glean_output_define_dimension(out, 'x', 4, y, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'x', 'a name that is there already')
    call expect(y%id == 0, 'what could not be defined is none')
    call glean_output_define_variable(out, 'v', GLEAN_INT8, [x, y], v, stat=stat, errmsg=errmsg)
    call expect(stat /= 0, 'a dimension that is none')
    call glean_output_define_variable(out, 'v', 99, [x], v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'type', 'a type that is none')
    call glean_output_define_variable(out, 'v', GLEAN_INT8, [x], [0], [4], v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'a block that begins at 0')
    call glean_output_define_variable(out, 'v', GLEAN_INT8, [x], [1, 1], [4, 1], v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'each dimension', 'a block of another rank')
    call glean_output_define_variable(out, 'v', GLEAN_INT8, [x], 1, 4, v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'each dimension', 'a block that is a number')
    call glean_output_define_variable(out, 'v', GLEAN_INT8, [x], [1], [4, 4], v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'start has the shape (1, 1)', 'start and count of different shapes')
    call glean_output_define_variable(out, 'v', GLEAN_INT8, [x], [2], [4], v, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'a block that leaves the variable')
    call glean_output_define_uniform_grid(out, [4, 4], [0d0], [1d0, 1d0], grid, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'same size', 'an origin of another dimension')
    call glean_output_define_uniform_grid(out, [4, 4], [0d0, 0d0], [1d0, 1d0], grid, start=[1, 1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'together', 'a start without a count')
    call glean_output_define_uniform_grid(out, [4, 4], [0d0, 0d0], [1d0, 1d0], grid, dimension_names=['a'], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one name', 'too few names')
    call glean_output_define_amr_grid(out, [4], 2, 1, [1, 1], [0], reshape([0d0, 0d0], [1, 2]), reshape([1d0, 1d0], [1, 2]), grid, &
        stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'each block', 'too few parents')
    call glean_output_define_attribute(out, 'a', reshape([1, 2], [1, 2]), stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one dimension', 'an attribute of two dimensions')
    call glean_output_define_attribute(out, 'a', 1, GLEAN_FLOAT64, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'own size', 'an integer as a real')
    call glean_output_define_variable_attribute(out, glean_variable(0), 'a', 1, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'an attribute of no variable')
    call take_all(out, four)
    call glean_output_end_definitions(out, stat, errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT .and. index(errmsg, 'negative length') > 0, 'all ranks are told: '//trim(errmsg))
    call glean_output_free(out)
  end subroutine definitions_that_cannot_be

  ! An old program's array, of which nothing says how long it is.
  subroutine take_all(out, values)
    type(glean_output), intent(in) :: out
    integer, intent(in) :: values(*)
    call glean_output_define_attribute(out, 'a', values(1:4), stat=stat, errmsg=errmsg)
    call ok('a section of an assumed-size array')
  end subroutine take_all

  subroutine shapes_and_ranks_that_do_not_fit()
    type(glean_output) :: out
    type(glean_dimension) :: x, y
    type(glean_variable) :: v, blocks
    integer(int32) :: wide(12, 12, 2)
    wide = 1
    call glean_output_open(session, file('shapes'), GLEAN_CDF5, out)
    call glean_output_define_dimension(out, 'x', 4, x)
    call glean_output_define_dimension(out, 'y', 6 * ranks, y)
    call glean_output_define_variable(out, 'v', GLEAN_INT32, [x, y], [1, 6 * me + 1], [4, 6], v)
    call glean_output_define_variable(out, 'blocks', GLEAN_INT32, [x, y], reshape([1, 6 * me + 1, 1, 6 * me + 4], [2, 2]), &
        reshape([4, 3, 4, 3], [2, 2]), blocks)
    call glean_output_end_definitions(out)
    call glean_output_put(out, v, wide(:4, :6, 1), stat, errmsg)
    call failed(GLEAN_INVALID_STATE, 'put', 'a put outside of a step')
    call glean_output_begin_step(out)
    call glean_output_put(out, v, wide(:6, :4, 1), stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'the array has the shape (6, 4), this rank''s block (4, 6)', 'a transposed array')
    call glean_output_put(out, v, wide(:4, :6:2, :), stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, '(4, 3, 2)', 'a section with gaps of another rank')
    call glean_output_put(out, v, wide(:12, 1, 1), stat, errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'too few elements in one dimension')
    call glean_output_put(out, blocks, wide(:3, :4, :), stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'block (4, 3)', 'blocks of another shape')
    call glean_output_put(out, glean_variable(7), wide(:4:3, 1, 1), stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'no such variable', 'a section for what is no variable')
    call glean_output_put_box(out, v, wide, [1, 1], stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, '(12, 12, 2) does not lie at (1, 1)', 'a box of a higher rank')
    call glean_output_put_box(out, v, wide(:4, :1, 1), [0, 1], stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'a box at 0')
    call glean_output_put_box(out, v, wide(:4, :1, 1), [1, 6 * ranks + 1], stat, errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'a box outside of the blocks')
    call glean_output_put_box(out, v, wide(:4, 1, 1), [1, 1, 1], stat, errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'a box of another rank than the variable')
    call glean_output_put(out, v, 'text', stat, errmsg)
    call expect(stat /= 0, 'a text for numbers')
    call glean_output_end_step(out)
    call glean_output_close_at(out, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call expect(stat /= 0, 'an output into which not all was put fails: '//trim(errmsg))
    call glean_output_free(out)
    call expect(.not. exists(file('shapes')), 'and is not published')
  end subroutine shapes_and_ranks_that_do_not_fit

  ! An array without gaps and of another rank, and lower ranks in a box.
  subroutine other_ranks_that_do_fit()
    type(glean_output) :: out
    type(glean_dimension) :: x, y
    type(glean_variable) :: v, blocks
    integer(int32) :: wide(12)
    integer :: i
    wide = me
    call glean_output_open(session, file('ranks'), GLEAN_CDF5, out)
    call glean_output_define_dimension(out, 'x', 4, x)
    call glean_output_define_dimension(out, 'y', 6 * ranks, y)
    call glean_output_define_variable(out, 'v', GLEAN_INT32, [x, y], [1, 6 * me + 1], [4, 6], v)
    call glean_output_define_variable(out, 'blocks', GLEAN_INT32, [x, y], reshape([1, 6 * me + 1, 1, 6 * me + 4], [2, 2]), &
        reshape([4, 3, 4, 3], [2, 2]), blocks)
    call glean_output_begin_step(out)
    call glean_output_put(out, v, [(me, i=1, 24)], stat, errmsg)
    call ok('the elements one after the other')
    call glean_output_put_box(out, blocks, wide(::3), [1, 6 * me + 1], stat, errmsg)
    call ok('one column')
    call glean_output_put_box(out, blocks, 5, [int(1, int64), 6_int64 * me + 2], stat, errmsg)
    call ok('one element')
    call glean_output_end_step(out, stat, errmsg)
    call ok('end the step')
    call glean_output_close_at(out, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call ok('close it')
    call glean_output_free(out)
  end subroutine other_ranks_that_do_fit

  subroutine what_one_rank_refuses_all_are_told()
    type(glean_output) :: out
    type(glean_dimension) :: x
    type(glean_variable) :: v
    integer :: kind
    do kind = 1, 2
      call glean_output_open(session, file('refused'), GLEAN_CDF5, out)
      call glean_output_define_dimension(out, 'x', 4 * ranks, x)
      call glean_output_define_variable(out, 'v', GLEAN_INT32, [x], [4 * me + 1], [4], v)
      call glean_output_begin_step(out)
      call glean_output_put(out, v, [1, 2, 3, 4])
      if (me == ranks - 1 .and. kind == 1) then
        call glean_output_fail(out, GLEAN_IO, 'it has not converged', stat, errmsg)
        call ok('fail')
      else if (me == ranks - 1) then
        call glean_output_put(out, v, [1, 2, 3], stat, errmsg)
        call failed(GLEAN_INVALID_ARGUMENT, 'shape (3)', 'an array of another shape')
      end if
      call glean_output_end_step(out)
      call glean_output_close_at(out, GLEAN_DURABLE, 60d0, stat, errmsg)
      if (kind == 1) call failed(GLEAN_IO, 'it has not converged', 'what a program refuses')
      if (kind == 2) call failed(GLEAN_INVALID_ARGUMENT, 'the array has the shape (3)', 'what the module refuses')
      call glean_output_free(out)
      call expect(.not. exists(file('refused')), 'what a rank has refused is not published')
    end do
  end subroutine what_one_rank_refuses_all_are_told

  subroutine failures_without_stat_are_kept()
    type(glean_output) :: out
    type(glean_dimension) :: x
    type(glean_variable) :: v
    integer :: i
    call glean_output_open(session, file('kept'), GLEAN_CDF5, out)
    call glean_output_define_dimension(out, 'x', 4 * ranks, x)
    call glean_output_define_variable(out, 'v', GLEAN_INT32, [x], [4 * me + 1], [4], v)
    call glean_output_begin_step(out)
    do i = 1, 100
      call glean_output_put(out, v, [1, 2, 3])   ! is printed once
    end do
    call glean_output_put(out, v, [1, 2, 3, 4])
    call glean_output_end_step(out, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'glean_output_put: the array has the shape (3)', 'the first call with stat after it')
    call glean_output_find_variable(out, 'v', v, stat, errmsg)
    call ok('a failure that was told is not told again')
    call glean_output_begin_step(out)
    call glean_output_begin_step(out)
    call glean_output_find_variable(out, 'none', v, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'none', 'a call that fails itself')
    call expect(index(glean_output_message(out), 'none') > 0, 'the message is that of the last failed call')
    call glean_output_free(out)
  end subroutine failures_without_stat_are_kept

  subroutine what_an_output_kept_goes_to_its_session()
    type(glean_output) :: out
    call glean_output_open(session, '/no/such/directory/kept.nc', GLEAN_CDF5, out)
    call glean_output_begin_step(out)
    call glean_output_free(out)
    call glean_session_wait(session, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call expect(stat /= 0 .and. index(errmsg, 'glean_output_open: ') > 0, 'the session tells what an output has kept: '//trim(errmsg))
    call glean_session_wait(session, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call ok('and that once')
  end subroutine what_an_output_kept_goes_to_its_session

  subroutine reads_that_do_not_fit()
    type(glean_input) :: in
    integer :: values(6, 4), one, count, two(2)
    integer(kind=1) :: small(2)
    character(len=3) :: text
    call glean_input_open(session, file('ranks'), in, stat=stat, errmsg=errmsg)
    call ok('open the file')
    call glean_input_read(in, glean_variable(9), values, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_NOT_FOUND, 'a variable that is not there')
    call glean_input_read(in, glean_variable(1), values, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'the array has the shape (6, 4), the variable (4, ', 'a transposed array')
    call glean_input_read(in, glean_variable(1), values, [1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not as many indices', 'too few indices')
    call glean_input_read(in, glean_variable(1), values(:4, :), [0, 1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'a box at 0')
    call glean_input_read(in, glean_variable(1), values(:4, :), [2, 1], stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_INVALID_ARGUMENT, 'a box that leaves the variable')
    call glean_input_read(in, glean_variable(1), one, [1, 1], step=0, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'step 0')
    call glean_input_attribute(in, 'none', text, stat=stat, errmsg=errmsg)
    call failed(GLEAN_NOT_FOUND, 'none', 'an attribute that is not there')
    call glean_input_free(in)
    ! A file with attributes.
    call with_attributes(file('attributes'))
    call glean_input_open(session, file('attributes'), in)
    text = 'abc'
    call glean_input_attribute(in, 'title', text, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'has 5 elements', 'a text that is too short')
    call glean_input_attribute(in, 'title', text, count, stat, errmsg)
    call ok('with a count it is asked how long')
    call expect(count == 5 .and. text == 'abc', 'nothing is read where there is no room')
    small = 0
    call glean_input_attribute(in, 'numbers', small, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_OUT_OF_RANGE, 'a number that does not fit')
    call glean_input_attribute(in, 'numbers', two, stat=stat, errmsg=errmsg)
    call ok('numbers')
    call expect(all(two == [7, 1000]), 'every other element was written')
    call glean_input_free(in)
  end subroutine reads_that_do_not_fit

  subroutine with_attributes(path)
    character(len=*), intent(in) :: path
    type(glean_output) :: out
    integer :: numbers(3)
    numbers = [7, 8, 1000]
    call glean_output_open(session, path, GLEAN_CDF5, out)
    call glean_output_define_attribute(out, 'title', 'a b c')
    call glean_output_define_attribute(out, 'numbers', numbers(::2))
    call glean_output_end_definitions(out)
    call glean_output_close_at(out, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call ok('a file with attributes')
    call glean_output_free(out)
  end subroutine with_attributes

  subroutine a_closed_session_refuses()
    type(glean_output) :: out
    type(glean_session) :: copy
    call glean_session_close(session, stat, errmsg)
    call ok('close the session')
    call glean_output_open(session, file('closed'), GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_INVALID_STATE, 'an output of a closed session: '//trim(errmsg))
    call glean_output_free(out)
    copy = session
    call glean_session_wait(copy, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call expect(stat == GLEAN_INVALID_STATE, 'a copy of the handle is the same session')
    call glean_session_free(session)
    call glean_session_close(session, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not open', 'a session that was given back')
    call expect(.not. exists(file('closed')), 'nothing is written')
  end subroutine a_closed_session_refuses
end program wrong_calls
