! SPDX-License-Identifier: BSD-3-Clause
!
! Writes meshes as tests/meshes/writer.cpp does: the same points, cells and fields, of which a rank has none if there are several.
! Arguments: FORMAT MESH FILE [MESH FILE]...
program mesh_writer
  use mpi_f08
  use glean
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_positive_inf, ieee_quiet_nan, ieee_value
  implicit none
  type(glean_session) :: session
  type(glean_output) :: out
  type(glean_grid) :: grid
  real(real64), allocatable :: cells(:, :), points(:, :)   ! x, y, z of what this rank has, in the order in which it puts it
  real(real64) :: along(0:50, 3) = 0   ! coordinates of points
  character(len=400) :: mesh, format, path, errmsg
  integer :: rank, ranks, stat, writers, writer, argument
  logical :: has_nothing, is_series

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  has_nothing = ranks > 1 .and. rank == merge(ranks - 1, 0, mod(ranks, 2) == 1)
  writers = max(ranks - 1, 1)
  writer = merge(rank - 1, rank, ranks > 1 .and. mod(ranks, 2) == 0)
  call get_command_argument(1, format)
  call glean_session_open(MPI_COMM_WORLD, session, [character(len=40) :: 'pool.budget = 32 MiB', 'pool.deadline = 60 s'])
  do argument = 2, command_argument_count(), 2
    call get_command_argument(argument, mesh)
    call get_command_argument(argument + 1, path)
    is_series = mesh == 'series'
    along = 0
    call glean_output_open(session, path, format_of(format), out)
    call glean_output_define_attribute(out, 'title', 'A mesh for readers')
    call glean_output_set_time(out, 0.75d0, 's')
    call define_mesh(trim(mesh))
    call write_fields()
    call glean_output_close(out)
    call glean_output_free(out)
    deallocate (cells, points)
  end do
  call glean_session_close(session, stat, errmsg)
  if (stat /= GLEAN_OK .and. rank == 0) write (error_unit, '(a)') trim(errmsg)
  call glean_session_free(session)
  call MPI_Finalize()
  if (stat /= GLEAN_OK) stop 1

contains

  integer function format_of(name)
    character(len=*), intent(in) :: name
    select case (name)
    case ('vtk')
      format_of = GLEAN_VTK
    case ('vtkhdf')
      format_of = GLEAN_VTKHDF
    case ('hdf5')
      format_of = GLEAN_HDF5
    case default
      format_of = GLEAN_CDF1
    end select
  end function format_of

  subroutine define_mesh(name)
    character(len=*), intent(in) :: name
    select case (name)
    case ('uniform', 'series')
      call uniform([4, 3, 6])
    case ('uniform_2d')
      call uniform([4, 6])
    case ('uniform_1d')
      call uniform([12])
    case ('large')
      call uniform([48, 40, 24])
    case ('one_cell')
      call uniform([2, 1, writers])
    case ('rectilinear')
      call rectilinear([4, 3, 6])
    case ('rectilinear_2d')
      call rectilinear([4, 6])
    case ('curvilinear')
      call curvilinear([4, 3, 6])
    case ('curvilinear_2d')
      call curvilinear([4, 6])
    case ('mixed')
      call mixed()
    case ('lagrange')
      call lagrange()
    case ('empty')
      call nothing()
    case ('amr')
      call amr(3)
    case ('amr_2d')
      call amr(2)
    case default
      stop 2
    end select
  end subroutine define_mesh

  ! Slabs along the slowest dimension, each cut into two blocks along x.
  subroutine cut(shape, start, count)
    integer, intent(in) :: shape(:)
    integer, allocatable, intent(out) :: start(:, :), count(:, :)
    integer :: n, rows, half
    n = size(shape)
    if (has_nothing) then
      allocate (start(n, 0), count(n, 0))
      return
    end if
    rows = shape(n) / writers
    allocate (start(n, merge(1, 2, n == 1)), source=1)
    allocate (count(n, merge(1, 2, n == 1)))
    count(:, 1) = shape
    start(n, :) = rows * writer + 1
    count(n, 1) = merge(shape(n) - rows * writer, rows, writer + 1 == writers)
    if (n == 1) return
    count(:, 2) = count(:, 1)
    half = shape(1) / 2
    count(1, 1) = half
    start(1, 2) = half + 1
    count(1, 2) = shape(1) - half
  end subroutine cut

  ! Where point i, j, k of a grid is.
  function place(i, j, k)
    integer, intent(in) :: i, j, k
    real(real64) :: place(3)
    if (mesh(1:11) == 'curvilinear') then
      place = [(1 + j) * cos(0.2d0 * i), (1 + j) * sin(0.2d0 * i), k + 0.1d0 * j]
    else
      place = [along(i, 1), along(j, 2), along(k, 3)]
    end if
  end function place

  ! Points and cells of all blocks: a cell lies in the middle of its corners.
  subroutine fill(start, count)
    integer, intent(in) :: start(:, :), count(:, :)
    integer :: begin(3), extent(3), n, b, i, j, k, c, corners
    real(real64) :: centre(3)
    n = size(start, 1)
    allocate (points(3, 0), cells(3, 0))
    do b = 1, size(start, 2)
      begin = 0
      extent = 0
      begin(:n) = start(:, b) - 1
      extent(:n) = count(:, b)
      points = reshape([points, (((place(begin(1) + i, begin(2) + j, begin(3) + k), i=0, extent(1)), j=0, extent(2)), k=0, extent(3))], &
          [3, size(points, 2) + product(extent + 1)])
      do k = 0, max(extent(3), 1) - 1
        do j = 0, max(extent(2), 1) - 1
          do i = 0, extent(1) - 1
            centre = 0
            corners = 0
            do c = 0, 7
              if (c / 4 > 0 .and. extent(3) == 0) cycle
              if (mod(c / 2, 2) > 0 .and. extent(2) == 0) cycle
              centre = centre + place(begin(1) + i + mod(c, 2), begin(2) + j + mod(c / 2, 2), begin(3) + k + c / 4)
              corners = corners + 1
            end do
            cells = reshape([cells, centre / corners], [3, size(cells, 2) + 1])
          end do
        end do
      end do
    end do
  end subroutine fill

  subroutine uniform(shape)
    integer, intent(in) :: shape(:)
    integer, allocatable :: start(:, :), count(:, :)
    real(real64) :: origin(3)
    integer :: n, d, i
    n = size(shape)
    origin = [2d0, -1d0, -1d0]
    do d = 1, n
      along(:, d) = [(origin(d) + 0.5d0 * i, i=0, 50)]
    end do
    call cut(shape, start, count)
    call fill(start, count)
    call glean_output_define_uniform_grid(out, shape, origin(:n), spread(0.5d0, 1, n), grid, start, count)
  end subroutine uniform

  subroutine rectilinear(shape)
    integer, intent(in) :: shape(:)
    integer, allocatable :: start(:, :), count(:, :)
    integer :: n, d, i
    n = size(shape)
    do d = 1, n
      along(:, d) = [(0.25d0 * i * i + n + 1 - d, i=0, 50)]
    end do
    call cut(shape, start, count)
    call fill(start, count)
    if (n == 3) then
      call glean_output_define_rectilinear_grid(out, along(:shape(1), 1), along(:shape(2), 2), along(:shape(3), 3), grid, start, count)
    else
      call glean_output_define_rectilinear_grid(out, along(:shape(1), 1), along(:shape(2), 2), grid=grid, start=start, count=count)
    end if
  end subroutine rectilinear

  ! The coordinates are rows of one array.
  subroutine curvilinear(shape)
    integer, intent(in) :: shape(:)
    integer, allocatable :: start(:, :), count(:, :)
    call cut(shape, start, count)
    call fill(start, count)
    call glean_output_define_curvilinear_grid(out, int(shape, int64), points(1, :), points(2, :), points(3, :), grid, &
        int(start, int64), int(count, int64))
  end subroutine curvilinear

  subroutine nothing()
    real(real64) :: none(0)
    allocate (points(3, 0), cells(3, 0))
    call glean_output_define_unstructured_mesh(out, none, none, none, [integer ::], [integer ::], grid)
  end subroutine nothing

  ! Two hexahedra, a pyramid, a wedge, a tetrahedron, a quad, a triangle, a pentagon, a line and a vertex.
  subroutine mixed()
    integer, parameter :: types(10) = [GLEAN_HEXAHEDRON, GLEAN_HEXAHEDRON, GLEAN_PYRAMID, GLEAN_WEDGE, GLEAN_TETRA, GLEAN_QUAD, &
        GLEAN_TRIANGLE, GLEAN_POLYGON, GLEAN_LINE, GLEAN_VERTEX]
    integer, parameter :: of_each(10) = [8, 8, 5, 6, 4, 4, 3, 5, 2, 1]
    integer, parameter :: connectivity(46) = [1, 2, 4, 3, 5, 6, 8, 7, 5, 6, 8, 7, 9, 10, 12, 11, 9, 10, 12, 11, 13, 2, 4, 14, 6, 8, 15, &
        3, 4, 16, 7, 9, 10, 12, 11, 3, 4, 16, 1, 2, 14, 4, 3, 1, 16, 13]
    real(real64) :: wide(5, 16), x   ! as a program has them that keeps other things beside
    integer :: offsets(11), i, j, k, c
    if (has_nothing) then
      call nothing()
      return
    end if
    x = 4d0 * writer
    wide = -1
    wide(2:4, :12) = reshape([(((x + i, 1d0 * j, 1d0 * k, i=0, 1), j=0, 1), k=0, 2)], [3, 12])
    wide(2:4, 13:) = reshape([x + 0.5d0, 0.5d0, 3d0, x + 1.5d0, 0.5d0, 0d0, x + 1.5d0, 0.5d0, 1d0, x + 0.5d0, 2d0, 0d0], [3, 4])
    points = wide(2:4, :)
    offsets = [1, (sum(of_each(:c)) + 1, c=1, 10)]
    cells = reshape([(sum(points(:, connectivity(offsets(c):offsets(c + 1) - 1)), 2) / of_each(c), c=1, 10)], [3, 10])
    call glean_output_define_unstructured_mesh(out, wide(2, :), wide(3, :), wide(4, :), types, connectivity, grid, offsets)
  end subroutine mixed

  ! One of order 3, stretched so that its edges differ; its coordinates are arrays of their own.
  subroutine lagrange()
    integer, parameter :: order = 3
    real(real32), allocatable :: x(:), y(:), z(:)
    integer(int64) :: all(64, 1)
    integer :: i, j, k, p
    if (has_nothing) then
      call nothing()
      return
    end if
    allocate (points(3, 64))
    do k = 0, order
      do j = 0, order
        do i = 0, order
          p = glean_lagrange_hexahedron_point(i + 1, j + 1, k + 1, order)
          points(:, p) = [5d0 * writer + i, 0.5d0 * j, 0.25d0 * k]
          all(i + 4 * j + 16 * k + 1, 1) = i + 4 * j + 16 * k + 1
        end do
      end do
    end do
    cells = reshape(sum(points, 2) / 64, [3, 1])
    x = real(points(1, :), real32)
    y = real(points(2, :), real32)
    z = real(points(3, :), real32)
    call glean_output_define_unstructured_mesh(out, x, y, z, GLEAN_LAGRANGE_HEXAHEDRON, all, grid)
  end subroutine lagrange

  ! A row of coarse blocks, each second one of which has finer blocks in it; a rank has the block and its children.
  subroutine amr(dimensions)
    integer, intent(in) :: dimensions
    integer :: levels(20), parents(20), children, column, child, blocks, total, first, d, b, i, j, k
    integer :: first_of(2 * writers + 1)   ! block of each column, from 0
    real(real64) :: lower(3, 20), width
    children = 2**dimensions
    first_of = [(i + (i + 1) / 2 * children, i=0, 2 * writers)]
    total = first_of(2 * writers + 1)
    first = merge(1, first_of(2 * writer + 1) + 1, has_nothing)
    blocks = 0
    lower = 0
    do column = 2 * writer, merge(2 * writer - 1, 2 * writer + 1, has_nothing)
      do child = -1, merge(children, 0, mod(column, 2) == 0) - 1   ! -1: the coarse block itself
        blocks = blocks + 1
        levels(blocks) = merge(1, 2, child < 0)
        parents(blocks) = merge(0, first_of(column + 1) + 1, child < 0)
        lower(1, blocks) = 4 * column
        if (child < 0) cycle
        lower(:dimensions, blocks) = lower(:dimensions, blocks) + [(2d0 * mod(child / 2**d, 2), d=0, dimensions - 1)]
      end do
    end do
    points = reshape([real(real64) ::], [3, 0])
    cells = points
    do b = 1, blocks
      width = 1d0 / levels(b)
      cells = reshape([cells, (((lower(:, b) + width * ([i, j, k] + 0.5d0), i=0, 3), j=0, 3), k=0, merge(3, 0, dimensions == 3))], &
          [3, size(cells, 2) + 4**dimensions])
      if (dimensions == 3) points = reshape([points, (((lower(:, b) + width * [i, j, k], i=0, 4), j=0, 4), k=0, 4)], &
          [3, size(points, 2) + 125])
    end do
    if (dimensions == 2) cells(3, :) = 0
    call glean_output_define_amr_grid(out, spread(4, 1, dimensions), total, first, levels(:blocks), parents(:blocks), &
        lower(:dimensions, :blocks), lower(:dimensions, :blocks) + spread(4d0 / levels(:blocks), 1, dimensions), grid)
  end subroutine amr

  elemental real(real64) function value_at(x, y, z)
    real(real64), intent(in) :: x, y, z
    value_at = x + 10 * y + 100 * z
  end function value_at

  ! What follows from where points or cells are: (components, elements).
  function values_of(field, places, step) result(values)
    character(len=*), intent(in) :: field
    real(real64), intent(in) :: places(:, :)
    integer, intent(in) :: step
    real(real64), allocatable :: values(:, :)
    real(real64) :: scalar(1, size(places, 2))
    integer :: c
    scalar(1, :) = value_at(places(1, :), places(2, :), places(3, :)) + 1000 * step
    select case (field)
    case ('velocity', 'place')
      values = places + 1000 * step
    case ('stress')
      values = reshape([(scalar + c, c=0, 8)], [9, size(places, 2)], order=[2, 1])
    case ('two')
      values = reshape([scalar, scalar + 1], [2, size(places, 2)], order=[2, 1])
    case ('number')
      values = floor(scalar)
    case ('density', 'potential')
      values = scalar
    case default
      scalar(1, :) = merge(ieee_value(1d0, ieee_positive_inf), ieee_value(1d0, ieee_quiet_nan), places(1, :) > 2.6d0)
      values = scalar
    end select
  end function values_of

  subroutine write_fields()
    character(len=10), parameter :: names(8) = [character(len=10) :: 'density', 'velocity', 'potential', 'place', 'stress', 'two', &
        char(195)//char(182)//' d', 'number']
    integer, parameter :: components(8) = [1, 3, 1, 3, 9, 2, 1, 1]
    integer, parameter :: centrings(8) = [GLEAN_CELLS, GLEAN_CELLS, GLEAN_POINTS, GLEAN_POINTS, GLEAN_POINTS, GLEAN_CELLS, GLEAN_CELLS, &
        GLEAN_CELLS]
    integer :: externals(8), f, step
    type(glean_variable) :: fields(8), constants
    type(glean_dimension) :: three
    real(real64), allocatable :: values(:, :)
    externals = [GLEAN_FLOAT64, GLEAN_FLOAT32, GLEAN_FLOAT64, GLEAN_FLOAT64, GLEAN_FLOAT64, GLEAN_FLOAT32, GLEAN_FLOAT64, GLEAN_INT64]
    if (format == 'cdf1') externals(8) = GLEAN_INT32
    do f = 1, 8
      if (centrings(f) == GLEAN_POINTS .and. mesh == 'amr_2d') cycle
      call glean_output_define_grid_variable(out, names(f), externals(f), grid, fields(f), per_step=is_series, centring=centrings(f), &
          components=components(f))
      if (components(f) == 1) call glean_output_define_variable_attribute(out, fields(f), 'units', 'g')
    end do
    call glean_output_define_dimension(out, 'three', 3, three)
    if (rank == 0) then
      call glean_output_define_variable(out, 'constants', GLEAN_FLOAT64, [three], [1], [3], constants)
    else
      call glean_output_define_variable(out, 'constants', GLEAN_FLOAT64, [three], constants)
    end if
    do step = 0, merge(2, 0, is_series)
      call glean_output_begin_step(out)
      do f = 1, 8
        if (fields(f)%id == 0) cycle
        if (centrings(f) == GLEAN_CELLS) values = values_of(names(f), cells, step)
        if (centrings(f) == GLEAN_POINTS) values = values_of(names(f), points, step)
        if (names(f) == 'density' .and. (mesh == 'mixed' .or. mesh == 'lagrange')) then
          values = spread(values(1, :), 1, 3)   ! one of three that lie side by side
          call glean_output_put(out, fields(f), values(2, :))
        else if (components(f) == 1) then
          call glean_output_put(out, fields(f), values(1, :))
        else
          call glean_output_put(out, fields(f), values)
        end if
      end do
      if (rank == 0 .and. step == 0) call glean_output_put(out, constants, [1d0, 2d0, 4d0])
      call glean_output_end_step(out)
      call glean_output_set_time(out, 0.75d0 + step + 1)
    end do
  end subroutine write_fields
end program mesh_writer
