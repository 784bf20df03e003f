! SPDX-License-Identifier: BSD-3-Clause
!
! Every call of the module, on any number of ranks: what arrives is read back. Argument: a directory for the files.
program every_call
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64
  implicit none
  type(glean_session) :: session
  character(len=1000) :: directory

  call start_ranks()
  call get_command_argument(1, directory)
  call a_session_opens()
  call a_uniform_grid_and_records_arrive(path_of('grid'))
  call an_amr_grid_arrives(path_of('amr'))
  call several_blocks_and_text_arrive(path_of('blocks'))
  call an_open_output_is_read(path_of('open'))
  call an_abandoned_output_leaves_nothing(path_of('abandoned'))
  call the_newest_file_is_opened(path_of('restart'))
  call a_session_ends()
  call end_ranks()

contains

  function path_of(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path
    character(len=8) :: number
    integer :: unit
    write (number, '(i0)') ranks
    path = trim(directory)//'/fortran_'//trim(number)//'_'//name//'.nc'
    if (me == 0 .and. exists(path)) then
      open (newunit=unit, file=path)
      close (unit, status='delete')
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end function path_of

  subroutine a_session_opens()
    type(MPI_Comm) :: computing
    integer :: computing_f, comparison
    logical :: is_writer
    call expect(index(glean_version(), '.') > 0, 'the version has a point')
    call expect(glean_status_name(GLEAN_NO_SPACE) == 'no space', 'statuses have names')
    call expect(glean_status_name(4711) == 'unknown status', 'other numbers have none')
    call glean_session_open(MPI_COMM_WORLD, session, [character(len=40) :: 'pool.budgett = 64 MiB'], stat, errmsg)
    call failed(GLEAN_INVALID_CONFIG, 'pool.budget', 'an unknown key')
    call glean_session_open(MPI_COMM_WORLD, session, [character(len=40) :: 'without a sign'], stat, errmsg)
    call failed(GLEAN_INVALID_CONFIG, 'without a sign', 'a setting without =')
    call expect(index(glean_session_message(session), 'without a sign') > 0, 'the message stays with the handle')
    call glean_session_free(session)
    call glean_session_open(MPI_COMM_WORLD, session, [character(len=40) :: 'pool.budget = 64 MiB', 'drain.threads=1'], stat, errmsg)
    call ok('open a session')
    if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1)
    call expect(glean_session_message(session) == '', 'a new session has no message')
    is_writer = .true.
    call glean_session_is_writer(session, is_writer, stat, errmsg)
    call ok('ask for writers')
    call expect(.not. is_writer, 'no rank is set aside')
    call glean_session_comm(session, computing, stat, errmsg)
    call ok('ask who computes')
    call MPI_Comm_compare(computing, MPI_COMM_WORLD, comparison)
    call expect(comparison == MPI_IDENT .or. comparison == MPI_CONGRUENT, 'all ranks compute')
    call glean_session_comm(session, computing_f, stat, errmsg)
    call ok('ask who computes, as an integer')
    call expect(computing_f == computing%mpi_val, 'both communicators are the same')
  end subroutine a_session_opens

  pure real(real64) function cell(step, x, y)
    integer, intent(in) :: step, x, y
    cell = 1000000d0 * step + 1000d0 * y + x
  end function cell

  ! Each rank has a slab of 10 x 6 cells, in an array with two ghost cells around.
  subroutine a_uniform_grid_and_records_arrive(path)
    character(len=*), intent(in) :: path
    integer, parameter :: nx = 10, ny = 6, ghosts = 2
    type(glean_output) :: out
    type(glean_input) :: in
    type(glean_grid) :: grid
    type(glean_dimension) :: time, along
    type(glean_variable) :: dens, pres, flag, found
    type(glean_variable_description) :: description
    type(glean_attribute_description) :: listed
    real(real64) :: wide(1 - ghosts:nx + ghosts, 1 - ghosts:ny + ghosts), all(nx, ny * ranks), factors(2)
    integer :: step, x, y, steps, variables, start(2), length, attributes
    logical :: reached
    integer(int16) :: flags(ranks)
    character(len=20) :: title

    call glean_output_open(session, path, GLEAN_CDF5, out, GLEAN_REPLACE, stat, errmsg)
    call ok('open an output')
    start = [1, ny * me + 1]
    call glean_output_define_uniform_grid(out, [nx, ny * ranks], [0d0, 0d0], [0.25d0, 0.5d0], grid, start, [nx, ny], &
        stat=stat, errmsg=errmsg)
    call ok('define a grid')
    call glean_output_define_grid_variable(out, 'dens', GLEAN_FLOAT64, grid, dens, stat=stat, errmsg=errmsg)
    call ok('define a variable over a grid')
    call glean_output_define_unlimited(out, 'time', time, stat, errmsg)
    call ok('define the record dimension')
    call glean_output_define_dimension(out, 'along', ranks, along, stat, errmsg)
    call ok('define a dimension')
    call glean_output_define_variable(out, 'flag', GLEAN_INT16, [along, time], [me + 1], [1], flag, stat=stat, errmsg=errmsg)
    call ok('define a record variable')
    call glean_output_define_grid_variable(out, 'pres', GLEAN_FLOAT32, grid, pres, per_step=.true., stat=stat, errmsg=errmsg)
    call ok('define a variable per step')
    call glean_output_define_attribute(out, 'title', 'Fortran', stat=stat, errmsg=errmsg)
    call ok('define a text')
    call glean_output_define_variable_attribute(out, dens, 'factors', [1.5, 2.5], stat=stat, errmsg=errmsg)
    call ok('define numbers')
    call glean_output_find_variable(out, 'pres', found, stat, errmsg)
    call ok('find a variable')
    call expect(found%id == pres%id, 'the variable that is found is the one that was defined')
    call glean_output_find_variable(out, 'nothing', found, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'nothing', 'what nothing is called')
    call expect(found%id == pres%id, 'a failed call leaves the variable')
    call expect(index(glean_output_message(out), 'nothing') > 0, 'the message stays with the output')
    call glean_output_end_definitions(out, stat, errmsg)
    call ok('end the definitions')
    do step = 1, 3
      wide = -1
      do y = 1, ny
        do x = 1, nx
          wide(x, y) = cell(step, x, y + ny * me)
        end do
      end do
      call glean_output_begin_step(out, stat, errmsg)
      call ok('begin a step')
      call glean_output_put(out, pres, wide(1:nx, 1:ny), stat, errmsg)
      call ok('put a section')
      call glean_output_put_box(out, flag, 100 * step + me, [me + 1], stat, errmsg)
      call ok('put a box')
      if (step == 1) then
        call glean_output_put(out, dens, wide(1:nx, 1:ny), stat, errmsg)
        call ok('put another section')
      end if
      wide = 0
      call glean_output_end_step(out, stat, errmsg)
      call ok('end a step')
    end do
    call glean_output_wait(out, GLEAN_STAGED, stat=stat, errmsg=errmsg)
    call ok('wait for an output')
    call glean_output_reached(out, GLEAN_STAGED, reached, stat, errmsg)
    call ok('ask how far it is')
    call expect(reached, 'what was waited for is reached')
    call glean_output_close_at(out, GLEAN_DURABLE, 60d0, stat, errmsg)
    call ok('close and wait')
    call expect(exists(path), 'the file is there')
    call glean_output_free(out)

    call glean_input_open(session, path, in, stat=stat, errmsg=errmsg)
    call ok('open the file')
    call glean_input_steps(in, steps, stat, errmsg)
    call ok('ask for steps')
    call expect(steps == 3, 'the file has three steps')
    call glean_input_variables(in, variables, stat, errmsg)
    call ok('ask for variables')
    call expect(variables == 5, 'the file has x, y, dens, flag and pres')
    call glean_input_describe(in, glean_variable(variables), description, stat, errmsg)
    call ok('describe a variable')
    call expect(description%name == 'pres' .and. description%external == GLEAN_FLOAT32 .and. description%per_step, 'pres is pres')
    call expect(size(description%shape) == 2, 'a variable over the grid has two dimensions')
    call expect(all_equal(description%shape, [int(nx, int64), int(ny * ranks, int64)]), 'x is the first dimension')
    call expect(size(description%dimension_names) == 3, 'a variable per step has one more name')
    call expect(description%dimension_names(1) == 'x' .and. description%dimension_names(2) == 'y' .and. &
        description%dimension_names(3) == 'time', 'the names are in the order of the shape, and the record dimension is the last one')
    call glean_input_find_variable(in, 'dens', found, stat, errmsg)
    call ok('find a variable of the file')
    call glean_input_attributes(in, found, attributes, stat, errmsg)
    call ok('count the attributes of a variable')
    call glean_input_describe_attribute(in, found, attributes, listed, stat, errmsg)
    call ok('describe an attribute of a variable')
    call expect(listed%name == 'factors' .and. listed%external == GLEAN_FLOAT32 .and. listed%elements == 2, 'it is that of dens')
    call glean_input_attributes(in, glean_variable(), attributes, stat, errmsg)
    call ok('count the attributes of the file')
    call glean_input_describe_attribute(in, glean_variable(), attributes, listed, stat, errmsg)
    call ok('describe an attribute of the file')
    call expect(listed%name == 'title' .and. listed%external == GLEAN_TEXT .and. listed%elements == 7, 'it is that of the file')
    call glean_input_describe_attribute(in, found, 0, listed, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'an attribute before the first one')
    call glean_input_describe_attribute(in, found, 7, listed, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'number 6', 'an attribute that is not there')
    call expect(listed%name == 'title', 'a failed call leaves the description')
    all = 0
    call glean_input_read(in, found, all, stat=stat, errmsg=errmsg)
    call ok('read a variable')
    call expect(is_cells(all, 1), 'what was put as dens is read')
    call glean_input_find_variable(in, 'flag', found)
    call glean_input_read(in, found, flags, step=2, stat=stat, errmsg=errmsg)
    call ok('read a step')
    call expect(flags(ranks) == 200 + ranks - 1, 'each rank has put its flag')
    all = -7
    call glean_input_find_variable(in, 'pres', found)
    call glean_input_read(in, found, all(::3, 2:4), [3, 2], step=3, stat=stat, errmsg=errmsg)
    call ok('read a box into a section')
    call expect(abs(all(1, 2) - cell(3, 3, 2)) < 0.5 .and. abs(all(10, 4) - cell(3, 6, 4)) < 0.5, 'the box is in the section')
    call expect(all(2, 2) == -7 .and. all(1, 1) == -7, 'what is between the elements of a section is not touched')
    length = 0
    call glean_input_attribute(in, 'title', title, length, stat, errmsg)
    call ok('read a text')
    call expect(title == 'Fortran' .and. length == 7, 'the text is the one that was written')
    call glean_input_find_variable(in, 'dens', found)
    call glean_input_variable_attribute(in, found, 'factors', factors, stat=stat, errmsg=errmsg)
    call ok('read numbers')
    call expect(factors(1) == 1.5 .and. factors(2) == 2.5, 'the numbers are those that were written')
    call glean_input_find_variable(in, 'nothing', found, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'nothing', 'finding what the file has not')
    call expect(index(glean_input_message(in), 'nothing') > 0, 'the message stays with the input')
    call glean_input_free(in)
  end subroutine a_uniform_grid_and_records_arrive

  logical function all_equal(one, other)
    integer(int64), intent(in) :: one(:), other(:)
    all_equal = all(one == other)
  end function all_equal

  logical function is_cells(values, step)
    real(real64), intent(in) :: values(:, :)
    integer, intent(in) :: step
    integer :: x, y
    is_cells = .true.
    do y = 1, size(values, 2)
      do x = 1, size(values, 1)
        is_cells = is_cells .and. values(x, y) == cell(step, x, y)
      end do
    end do
  end function is_cells

  ! As FLASH has it: one array for all variables of all blocks; a variable of it is a section with gaps.
  subroutine an_amr_grid_arrives(path)
    character(len=*), intent(in) :: path
    type(glean_output) :: out
    type(glean_input) :: in
    type(glean_grid) :: grid
    type(glean_variable) :: dens
    integer :: blocks, first, total, rank, i, parents(2)
    real(real64) :: unknown(3, 6, 6, 6, 2), block(4, 4, 4), lower(3, 2), upper(3, 2)

    blocks = mod(me + 1, 3)   ! 1, 2, 0, 1
    first = 1
    total = 0
    do rank = 0, ranks - 1
      if (rank < me) first = first + mod(rank + 1, 3)
      total = total + mod(rank + 1, 3)
    end do
    lower = 0
    lower(1, :) = [first, first + 1]   ! side by side
    upper = lower + 1
    unknown = reshape([(1d0 * i, i=1, size(unknown))], shape(unknown)) + 10000 * me
    call glean_output_open(session, path, GLEAN_CDF2, out, stat=stat, errmsg=errmsg)
    call ok('open an output')
    call glean_output_define_amr_grid(out, [4, 4, 4], total, first, [(1, i=1, blocks)], [(0, i=1, blocks)], lower(:, :blocks), &
        upper(:, :blocks), grid, stat, errmsg)
    call ok('define an AMR grid')
    call glean_output_define_grid_variable(out, 'dens', GLEAN_FLOAT64, grid, dens, stat=stat, errmsg=errmsg)
    call ok('define a variable over it')
    call glean_output_begin_step(out, stat, errmsg)
    call ok('begin a step')
    call glean_output_put(out, dens, unknown(2, 2:5, 2:5, 2:5, :blocks), stat, errmsg)
    call ok('put all blocks')
    call glean_output_end_step(out, stat, errmsg)
    call ok('end a step')
    call glean_output_close(out, stat, errmsg)
    call ok('close an output')
    call glean_input_open(session, path, in, stat=stat, errmsg=errmsg)
    call ok('read it')
    if (blocks > 0) then
      call glean_input_find_variable(in, 'dens', dens)
      call glean_input_read(in, dens, block, [1, 1, 1, first + blocks - 1], stat=stat, errmsg=errmsg)
      call ok('read a block')
      call expect(all(block == unknown(2, 2:5, 2:5, 2:5, blocks)), 'a block is the one that was put')
      call glean_input_find_variable(in, 'parent', dens)
      call glean_input_read(in, dens, parents(:blocks), [first], stat=stat, errmsg=errmsg)
      call ok('read the parents')
      call expect(all(parents(:blocks) == -1), 'a block without a parent has -1 in the file')
    end if
    call glean_input_free(in)
    call glean_output_free(out)
  end subroutine an_amr_grid_arrives

  subroutine several_blocks_and_text_arrive(path)
    character(len=*), intent(in) :: path
    type(glean_output) :: out
    type(glean_input) :: in
    type(glean_dimension) :: x, letters, lines
    type(glean_variable) :: values, names, scalar, bytes
    integer :: numbers(8, 2), all(4 * ranks), i, total, seen(1), length
    character(len=6) :: name, every(ranks)
    integer(int64) :: start(1, 2)

    call glean_output_open(session, path, GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
    call ok('open an output')
    call glean_output_define_dimension(out, 'x', int(4 * ranks, int64), x)
    call glean_output_define_dimension(out, 'letters', 6, letters)
    call glean_output_define_dimension(out, 'lines', ranks, lines)
    start = reshape([2_int64 * me + 1, 2_int64 * (ranks + me) + 1], [1, 2])
    call glean_output_define_variable(out, 'values', GLEAN_INT32, [x], start, reshape([2_int64, 2_int64], [1, 2]), values, &
        GLEAN_FILL_OFF, stat=stat, errmsg=errmsg)
    call ok('define a variable with two blocks')
    call glean_output_define_variable(out, 'names', GLEAN_TEXT, [letters, lines], [1, me + 1], [6, 1], names, stat=stat, errmsg=errmsg)
    call ok('define a text')
    if (me == 0) then
      call glean_output_define_variable(out, 'scalar', GLEAN_FLOAT64, [glean_dimension ::], [integer ::], [integer ::], scalar, &
          stat=stat, errmsg=errmsg)
    else
      call glean_output_define_variable(out, 'scalar', GLEAN_FLOAT64, [glean_dimension ::], scalar, stat=stat, errmsg=errmsg)
    end if
    call ok('define a scalar')
    call glean_output_define_variable(out, 'bytes', GLEAN_UINT8, [x], bytes, fill=GLEAN_FILL_ON, stat=stat, errmsg=errmsg)
    call ok('define what no rank puts')
    call glean_output_define_variable_attribute(out, bytes, '_FillValue', 7_1, GLEAN_UINT8, stat, errmsg)
    call ok('define an unsigned attribute')
    write (name, '(a,i0)') 'rank', me
    numbers = reshape([(100 * me + i, i=1, 16)], [8, 2])
    call glean_output_begin_step(out)
    call glean_output_put(out, values, numbers(1:8:7, :), stat, errmsg)
    call ok('put blocks as one more dimension')
    call glean_output_put_box(out, names, name, [1, me + 1], stat, errmsg)
    call ok('put a text')
    if (me == 0) call glean_output_put(out, scalar, 2.5_real32, stat, errmsg)
    if (me == 0) call ok('put a scalar')
    call glean_output_end_step(out)
    call glean_output_close(out, stat, errmsg)
    call ok('close an output')
    call glean_output_free(out)

    call glean_session_wait(session, GLEAN_DURABLE, 60d0, stat, errmsg)
    call ok('wait for all outputs')
    call glean_input_open(session, path, in, GLEAN_READ_PUBLISHED, 60d0, stat, errmsg)
    call ok('open the file')
    call glean_input_read(in, glean_variable(1), all, stat=stat, errmsg=errmsg)
    call ok('read the blocks')
    call expect(all(2 * me + 1) == numbers(1, 1) .and. all(2 * me + 2) == numbers(8, 1), 'the first block is at its place')
    call expect(all(2 * (ranks + me) + 1) == numbers(1, 2), 'the second block is at its place')
    call glean_input_read(in, glean_variable(2), every, stat=stat, errmsg=errmsg)
    call ok('read texts')
    call expect(every(me + 1) == name, 'each rank has put its name')
    call glean_input_read(in, glean_variable(3), total, stat=stat, errmsg=errmsg)
    call ok('read a scalar')
    call expect(total == 2, 'a scalar is converted')
    call glean_input_read(in, glean_variable(4), seen, [4 * ranks], stat=stat, errmsg=errmsg)
    call ok('read what no rank has put')
    call expect(seen(1) == 7, 'what no rank has put has the fill value')
    call glean_input_variable_attribute(in, glean_variable(4), '_FillValue', seen, length)
    call expect(length == 1 .and. seen(1) == 7, 'the fill value is an attribute')
    call glean_input_free(in)
  end subroutine several_blocks_and_text_arrive

  integer function state_of(path)
    character(len=*), intent(in) :: path
    type(glean_output_status) :: status
    integer :: count, i
    state_of = -1
    call glean_session_outputs(session, count, stat, errmsg)
    call ok('list the outputs')
    do i = 1, count
      call glean_session_output(session, i, status, stat, errmsg)
      call ok('ask for an output')
      if (status%path == path) state_of = status%state
    end do
    call glean_session_output(session, count + 1, status, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'no output', 'one more output')
  end function state_of

  subroutine an_open_output_is_read(path)
    character(len=*), intent(in) :: path
    type(glean_output) :: out
    type(glean_input) :: in
    type(glean_dimension) :: x
    type(glean_variable) :: v
    real(real64) :: values(3), seen(3)
    call glean_output_open(session, path, GLEAN_CDF1, out)
    call glean_output_define_dimension(out, 'x', 3 * ranks, x)
    call glean_output_define_variable(out, 'v', GLEAN_FLOAT32, [x], [3 * me + 1], [3], v)
    values = [1, 2, 3] + 10 * me
    call glean_output_begin_step(out)
    call glean_output_put(out, v, values(3:1:-1))
    call glean_output_end_step(out)
    call expect(state_of(path) == GLEAN_STATE_OPEN, 'the output is open')
    call glean_input_open(session, path, in, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_STATE, 'has not closed it', 'reading an open output')
    call glean_input_free(in)
    call glean_input_open(session, path, in, GLEAN_READ_WRITTEN, 60d0, stat, errmsg)
    call ok('read an open output')
    call glean_input_read(in, glean_variable(1), seen, [3 * me + 1], stat=stat, errmsg=errmsg)
    call ok('read from it')
    call expect(all(seen(3:1:-1) == values), 'a section may go backwards')
    call glean_input_free(in)
    call glean_output_close_at(out, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call ok('close it')
    call expect(state_of(path) == GLEAN_STATE_PUBLISHED, 'the output is published')
    call glean_output_free(out)
  end subroutine an_open_output_is_read

  subroutine an_abandoned_output_leaves_nothing(path)
    character(len=*), intent(in) :: path
    type(glean_output) :: out
    call glean_output_open(session, path, GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
    call ok('open an output')
    call glean_output_free(out)
    call glean_session_wait(session, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call ok('wait')
    call expect(.not. exists(path), 'an abandoned output has no file')
  end subroutine an_abandoned_output_leaves_nothing

  subroutine the_newest_file_is_opened(path)
    character(len=*), intent(in) :: path
    type(glean_output) :: out
    type(glean_input) :: in
    type(glean_dimension) :: x
    type(glean_variable) :: v
    real(real64) :: seen(1)
    call glean_session_restart(session, path(:len(path) - 3)//'*', in, 60d0, stat, errmsg)
    call failed(GLEAN_NOT_FOUND, 'no file matches', 'restarting from nothing')
    call glean_input_free(in)
    call glean_output_open(session, path, GLEAN_CDF5, out)
    call glean_output_define_dimension(out, 'x', ranks, x)
    call glean_output_define_variable(out, 'v', GLEAN_FLOAT64, [x], [me + 1], [1], v)
    call glean_output_begin_step(out)
    call glean_output_put(out, v, [2.5d0])
    call glean_output_end_step(out)
    call glean_output_close(out, stat, errmsg)
    call ok('write a file')
    call glean_output_free(out)
    call glean_session_restart(session, path(:len(path) - 3)//'*', in, stat=stat, errmsg=errmsg)
    call ok('restart')
    call expect(glean_input_path(in) == path, 'it is the file that matches')
    call glean_input_read(in, glean_variable(1), seen, [me + 1], stat=stat, errmsg=errmsg)
    call ok('read from it')
    call expect(seen(1) == 2.5d0, 'it has what was put')
    call glean_input_free(in)
  end subroutine the_newest_file_is_opened

  subroutine a_session_ends()
    type(glean_statistics) :: statistics
    call glean_session_statistics(session, statistics, stat, errmsg)
    call ok('ask for statistics')
    call expect(statistics%puts >= 8 .and. statistics%blocked_seconds > 0, 'puts are counted')
    call expect(statistics%pool_budget_bytes == 2_int64**26 .and. statistics%pool_high_water_bytes > 0, 'the settings have come')
    call glean_session_close(session, stat, errmsg)
    call ok('close the session')
    call glean_session_free(session)
  end subroutine a_session_ends
end program every_call
