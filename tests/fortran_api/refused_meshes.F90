! SPDX-License-Identifier: BSD-3-Clause
!
! Meshes and grids that cannot be, handles of what is not there, and sessions that are given back too early: calls say what is wrong, and
! end nothing. Argument: a directory for the files.
program refused_meshes
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  implicit none
  type(glean_session) :: session
  character(len=1000) :: directory
  real(real64) :: xyz(3, 8)
  integer :: i, j, k

  call start_ranks()
  call get_command_argument(1, directory)
  xyz = reshape([(((1d0 * i, 1d0 * j, 1d0 * k, i=0, 1), j=0, 1), k=0, 1)], [3, 8])
  call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
  call ok('open a session')
  call unstructured_meshes_that_cannot_be()
  call grids_that_cannot_be()
  call a_grid_of_another_output_is_refused()
  call a_time_that_cannot_be()
  call variables_over_points_have_their_shape()
  call glean_session_close(session, stat, errmsg)
  call ok('close the session')
  call glean_session_free(session)
  call a_session_may_be_given_back_before_its_outputs()
  call end_ranks()

contains

  function file(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path
    path = trim(directory)//'/refused_'//name//'.nc'
  end function file

  subroutine open_output(name, out)
    character(len=*), intent(in) :: name
    type(glean_output), intent(inout) :: out
    call glean_output_open(session, file(name), GLEAN_CDF5, out, stat=stat, errmsg=errmsg)
    call ok('open an output')
  end subroutine open_output

  subroutine unstructured_meshes_that_cannot_be()
    type(glean_output) :: out
    type(glean_grid) :: grid
    integer :: cube(8), all(2, 2, 2)
    cube = [1, 2, 4, 3, 5, 6, 8, 7]
    all = 1
    call open_output('mesh', out)
    call glean_output_define_unstructured_mesh(out, xyz(1, :), xyz(2, :), xyz(3, :7), GLEAN_HEXAHEDRON, reshape(cube, [8, 1]), grid, &
        stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not the same shape', 'coordinates of different shapes')
    call glean_output_define_unstructured_mesh(out, xyz(1, :), xyz(2, :), xyz(3, :), [GLEAN_HEXAHEDRON, 1], reshape(cube, [8, 1]), grid, &
        stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one type for each column', 'two types for one column')
    call glean_output_define_unstructured_mesh(out, xyz(1, :), xyz(2, :), xyz(3, :), [GLEAN_HEXAHEDRON], all, grid, &
        stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one dimension or two', 'a connectivity of three dimensions')
    call glean_output_define_unstructured_mesh(out, xyz(1, :), xyz(2, :), xyz(3, :), [300], cube, grid, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'type that is none', 'a type that no number of a byte is')
    call glean_output_define_unstructured_mesh(out, xyz(1, :), xyz(2, :), xyz(3, :), [GLEAN_POLYGON], cube, grid, [1], stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one member more', 'too few offsets')
    call glean_output_define_unstructured_mesh(out, xyz(1, :), xyz(2, :), xyz(3, :), [GLEAN_HEXAHEDRON], cube - 1, grid, &
        stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'points 0 to 7', 'points that count from 0')
    call expect(grid%id == 0, 'a failed call leaves the grid')
    call glean_output_end_definitions(out, stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not the same shape', 'an output one of whose grids was refused')
    call glean_output_free(out)
  end subroutine unstructured_meshes_that_cannot_be

  subroutine grids_that_cannot_be()
    type(glean_output) :: out
    type(glean_grid) :: grid
    real(real64) :: x(3, 3), line(3)
    x = 0
    line = [0, 1, 2]
    call open_output('grid', out)
    call glean_output_define_rectilinear_grid(out, line, z=line, grid=grid, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'z and no y', 'z without y')
    call glean_output_define_rectilinear_grid(out, line, line, grid=grid, start=[1, 1], count=[2, 2], dimension_names=['x'], &
        stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one name', 'too few names')
    call glean_output_define_rectilinear_grid(out, line, line, grid=grid, start=[0, 1], count=[2, 2], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'a block that begins at 0')
    call glean_output_define_rectilinear_grid(out, line(3:1:-1), grid=grid, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'along dimension 0', 'coordinates that descend')
    call glean_output_define_curvilinear_grid(out, [2, 2], x, x, grid=grid, start=[1, 1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'together', 'a start without a count')
    call glean_output_define_curvilinear_grid(out, [2, 2], x(:2, :), x(:2, :), grid=grid, start=[1, 1], count=[2, 2], &
        stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'the coordinates have the shape (2, 3), the points of this rank''s block (3, 3)', &
        'coordinates of another shape')
    call glean_output_define_curvilinear_grid(out, [2, 2], x, x, grid=grid, start=[1, 1], count=[2, 2], &
        dimension_names=['a', 'b', 'c'], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'one name', 'too many names')
    call glean_output_free(out)
  end subroutine grids_that_cannot_be

  subroutine a_grid_of_another_output_is_refused()
    type(glean_output) :: one, other
    type(glean_grid) :: grid, second
    type(glean_variable) :: v
    call open_output('one', one)
    call open_output('other', other)
    call glean_output_define_uniform_grid(one, [4], [0d0], [1d0], grid)
    call glean_output_define_uniform_grid(one, [4], [0d0], [1d0], second, dimension_names=['a'])
    call glean_output_define_grid_variable(other, 'v', GLEAN_INT8, second, v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'v is defined on a grid that this output does not have', 'a grid of another output')
    call glean_output_define_grid_variable(other, 'v', GLEAN_INT8, glean_grid(4711), v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'does not have', 'a grid beyond all')
    call glean_output_define_grid_variable(other, 'v', GLEAN_INT8, glean_grid(), v, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'does not have', 'a grid that was not defined')
    call glean_output_define_grid_variable(one, 'v', GLEAN_INT8, second, v, centring=17, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'centring', 'a centring that is none')
    call glean_output_define_grid_variable(one, 'v', GLEAN_INT8, second, v, components=0, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'components', 'no components')
    call expect(v%id == 0, 'failed calls leave the variable')
    call glean_output_free(one)
    call glean_output_free(other)
  end subroutine a_grid_of_another_output_is_refused

  subroutine a_time_that_cannot_be()
    type(glean_output) :: out
    call open_output('time', out)
    call glean_output_begin_step(out)
    call glean_output_end_step(out)
    call glean_output_set_time(out, 1d0, stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_STATE, 'has no time', 'a time that comes too late')
    call glean_output_free(out)
  end subroutine a_time_that_cannot_be

  ! One more in each dimension, components first.
  subroutine variables_over_points_have_their_shape()
    type(glean_output) :: out
    type(glean_grid) :: grid, none
    type(glean_variable) :: v, empty
    type(glean_input) :: in
    real(real32) :: field(0:9, 2, 4, 3), back(2, 3, 2)
    field = 0
    field(2:3, :, :3, :2) = reshape([(1000.0 * me + i, i=1, 24)], [2, 2, 3, 2])
    call open_output('points', out)
    call glean_output_define_rectilinear_grid(out, [(1d0 * i, i=0, 2 * ranks)], [0d0, 1d0], [0d0, 2d0], grid=none, &
        dimension_names=['a', 'b', 'c'], stat=stat, errmsg=errmsg)
    call ok('a grid of which no rank has anything')
    call glean_output_define_rectilinear_grid(out, [0d0, 1d0, 4d0], [(1d0 * i, i=0, ranks)], grid=grid, start=[1_int64, me + 1_int64], &
        count=[2_int64, 1_int64], stat=stat, errmsg=errmsg)
    call ok('a rectilinear grid')
    call glean_output_define_grid_variable(out, 'v', GLEAN_FLOAT32, grid, v, centring=GLEAN_POINTS, components=2, stat=stat, errmsg=errmsg)
    call ok('a vector on points')
    call glean_output_define_grid_variable(out, 'empty', GLEAN_FLOAT32, none, empty, fill=GLEAN_FILL_ON, centring=GLEAN_POINTS)
    call glean_output_begin_step(out)
    call glean_output_put(out, v, field(2:3, 1, :3, :2), stat, errmsg)
    call ok('a section that has the shape (2, 3, 2)')
    call glean_output_put(out, empty, [real(real32) ::], stat, errmsg)
    call ok('nothing')
    call glean_output_put(out, v, field(2:3, :, :2, :3), stat, errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'is not what this rank''s blocks are', 'a section of another shape')
    call glean_output_end_step(out)
    call glean_output_close(out)
    call glean_output_free(out)
    call glean_session_wait(session, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call expect(stat /= GLEAN_OK, 'what was refused fails the output')

    call open_output('points', out)
    call glean_output_define_rectilinear_grid(out, [0d0, 1d0, 4d0], [(1d0 * i, i=0, ranks)], grid=grid, start=[1, me + 1], count=[2, 1])
    call glean_output_define_grid_variable(out, 'v', GLEAN_FLOAT32, grid, v, centring=GLEAN_POINTS, components=2)
    call glean_output_begin_step(out)
    call glean_output_put(out, v, field(2:3, 1, :3, :2))
    call glean_output_end_step(out)
    call glean_output_close_at(out, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
    call ok('close it')
    call glean_output_free(out)
    call glean_input_open(session, file('points'), in)
    call glean_input_find_variable(in, 'v', v)
    call glean_input_read(in, v, back, [1, 1, ranks], stat=stat, errmsg=errmsg)
    call ok('read the last rows of points')
    if (me == ranks - 1) call expect(all(back == field(2:3, 1, :3, :2)), 'the points of the last rank are what it has put')
    call glean_input_free(in)
  end subroutine variables_over_points_have_their_shape

  subroutine a_session_may_be_given_back_before_its_outputs()
    type(glean_output) :: open, failing
    type(glean_input) :: in
    type(glean_session) :: another
    integer :: steps
    call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
    call ok('open a session')
    call open_output('early', open)
    call open_output('failing', failing)
    call glean_output_put(failing, glean_variable(1), [1], stat=stat)
    call glean_input_open(session, file('points'), in, stat=stat, errmsg=errmsg)
    call ok('open a file')
    call glean_session_close(session, stat, errmsg)
    call ok('close the session')
    call glean_session_free(session)
    call glean_session_open(MPI_COMM_WORLD, another, stat=stat, errmsg=errmsg)   ! takes what memory is free
    call ok('open another session')
    call glean_output_begin_step(open, stat, errmsg)
    call failed(GLEAN_INVALID_STATE, 'the session is closed', 'an output whose session was given back')
    call glean_output_begin_step(failing)   ! is printed: no session keeps it any more
    call glean_output_free(failing)
    call glean_output_free(open)
    call glean_input_steps(in, steps, stat, errmsg)
    call ok('a file can be read on')
    call glean_input_free(in)
    call glean_session_close(another, stat, errmsg)
    call ok('nothing of the first session is told by the second')
    call glean_session_free(another)
  end subroutine a_session_may_be_given_back_before_its_outputs
end program refused_meshes
