! SPDX-License-Identifier: BSD-3-Clause
!
! Grids whose points follow from a few numbers: uniform and rectilinear ones, and blocks of AMR. The program gives dimensions, shapes and
! indices in Fortran's order, fastest first and from 1; C gets them slowest first and from 0.
module glean_grids
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_loc, c_ptr, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use glean_values
  use glean_handles
  use glean_c_calls
  use glean_blocks
  implicit none
  private
  public :: glean_output_define_uniform_grid, glean_output_define_rectilinear_grid, glean_output_define_amr_grid

  interface glean_output_define_uniform_grid
    module procedure define_uniform_grid_int32, define_uniform_grid_int64
  end interface

  ! Without `start` and `count` this rank has nothing of the grid.
  interface glean_output_define_rectilinear_grid
    module procedure define_rectilinear_grid_without_blocks, define_rectilinear_grid_int32, define_rectilinear_grid_int64
  end interface

contains

  ! Cells of equal size over the whole domain: shape, origin, spacing and names in the order x, y, z. `start` and `count`: this rank's
  ! block (dimensions), or its blocks (dimensions, blocks). Local.
  subroutine define_uniform_grid_int64(output, shape, origin, spacing, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer(int64), intent(in) :: shape(:)
    real(real64), intent(in) :: origin(:), spacing(:)
    type(glean_grid), intent(inout) :: grid
    integer(int64), dimension(..), intent(in), optional :: start, count
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: from(:, :), extents(:, :)
    if (present(start)) from = indices_of(start)
    if (present(count)) extents = indices_of(count)
    call define_uniform_grid(output, shape, origin, spacing, grid, from, extents, dimension_names, stat, errmsg)
  end subroutine define_uniform_grid_int64

  subroutine define_uniform_grid_int32(output, shape, origin, spacing, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer(int32), intent(in) :: shape(:)
    real(real64), intent(in) :: origin(:), spacing(:)
    type(glean_grid), intent(inout) :: grid
    integer(int32), dimension(..), intent(in), optional :: start, count
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: from(:, :), extents(:, :)
    if (present(start)) from = indices_of(start)
    if (present(count)) extents = indices_of(count)
    call define_uniform_grid(output, int(shape, int64), origin, spacing, grid, from, extents, dimension_names, stat, errmsg)
  end subroutine define_uniform_grid_int32

  ! `start` and `count` are not allocated where the program has not given them.
  subroutine define_uniform_grid(output, shape, origin, spacing, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer(int64), intent(in) :: shape(:)
    real(real64), intent(in) :: origin(:), spacing(:)
    type(glean_grid), intent(inout) :: grid
    integer(int64), allocatable, intent(in) :: start(:, :), count(:, :)
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_uniform_grid) :: description
    type(block_list), target :: blocks
    integer(c_int64_t), allocatable, target :: cells(:)
    real(c_double), allocatable, target :: corner(:), width(:)
    character(kind=c_char, len=:), allocatable, target :: texts(:)
    type(c_ptr), allocatable, target :: names(:)
    character(len=:), allocatable :: wrong
    type(c_id) :: made
    integer(c_int) :: status
    integer :: n

    n = size(shape)
    wrong = ''
    if (size(origin) /= n .or. size(spacing) /= n) wrong = 'shape, origin and spacing of a uniform grid have not the same size'
    if (present(dimension_names)) then
      if (size(dimension_names) /= n) wrong = 'a uniform grid needs one name for each dimension'
    end if
    if (wrong == '') wrong = grid_blocks_or_why(start, count, n, blocks)
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_define_uniform_grid', wrong, stat, errmsg)
      return
    end if
    cells = shape(n:1:-1)
    corner = origin(n:1:-1)
    width = spacing(n:1:-1)
    description%size = c_sizeof(description)
    description%dimensions = int(n, c_size_t)
    description%shape = c_loc(cells)
    description%origin = c_loc(corner)
    description%spacing = c_loc(width)
    description%blocks = size(blocks%start, 2, kind=c_size_t)
    if (description%blocks > 0) then
      description%block_start = c_loc(blocks%start)
      description%block_count = c_loc(blocks%count)
    end if
    if (present(dimension_names) .and. n > 0) then
      call names_of(dimension_names, texts, names)
      description%dimension_names = c_loc(names)
    end if
    status = c_output_define_uniform_grid(handle_of(output%inside), description, made)
    if (status == GLEAN_OK) then
      grid%id = made%id + 1
      call remember_grid(output%inside, grid%id, blocks, points_of_boxes(blocks))
    end if
    call finish(output%inside, 'glean_output_define_uniform_grid', status, stat, errmsg)
  end subroutine define_uniform_grid

  ! Points at any distance: their coordinates along x, y and z, ascending, one more than cells, the same on all ranks. `start` and `count`
  ! (of cells) and `dimension_names` as of a uniform grid. Local.
  subroutine define_rectilinear_grid_int64(output, x, y, z, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    real(real64), intent(in) :: x(:)
    real(real64), intent(in), optional :: y(:), z(:)
    type(glean_grid), intent(inout) :: grid
    integer(int64), dimension(..), intent(in) :: start, count
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: from(:, :), extents(:, :)
    from = indices_of(start)
    extents = indices_of(count)
    call define_rectilinear_grid(output, x, y, z, grid, from, extents, dimension_names, stat, errmsg)
  end subroutine define_rectilinear_grid_int64

  subroutine define_rectilinear_grid_int32(output, x, y, z, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    real(real64), intent(in) :: x(:)
    real(real64), intent(in), optional :: y(:), z(:)
    type(glean_grid), intent(inout) :: grid
    integer(int32), dimension(..), intent(in) :: start, count
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: from(:, :), extents(:, :)
    from = indices_of(start)
    extents = indices_of(count)
    call define_rectilinear_grid(output, x, y, z, grid, from, extents, dimension_names, stat, errmsg)
  end subroutine define_rectilinear_grid_int32

  subroutine define_rectilinear_grid_without_blocks(output, x, y, z, grid, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    real(real64), intent(in) :: x(:)
    real(real64), intent(in), optional :: y(:), z(:)
    type(glean_grid), intent(inout) :: grid
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: none(:, :)
    call define_rectilinear_grid(output, x, y, z, grid, none, none, dimension_names, stat, errmsg)
  end subroutine define_rectilinear_grid_without_blocks

  subroutine define_rectilinear_grid(output, x, y, z, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    real(real64), intent(in) :: x(:)
    real(real64), intent(in), optional :: y(:), z(:)
    type(glean_grid), intent(inout) :: grid
    integer(int64), allocatable, intent(in) :: start(:, :), count(:, :)
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_rectilinear_grid) :: description
    type(block_list), target :: blocks
    real(c_double), allocatable, target :: along_x(:), along_y(:), along_z(:)
    integer(c_size_t), allocatable, target :: points(:)
    type(c_ptr), allocatable, target :: coordinates(:), names(:)
    character(kind=c_char, len=:), allocatable, target :: texts(:)
    character(len=:), allocatable :: wrong
    type(c_id) :: made
    integer(c_int) :: status
    integer :: n

    along_x = x
    points = [size(x, kind=c_size_t)]
    coordinates = [c_loc(along_x)]
    if (present(y)) then
      along_y = y
      points = [size(y, kind=c_size_t), points]
      coordinates = [c_loc(along_y), coordinates]
    end if
    if (present(z)) then
      along_z = z
      points = [size(z, kind=c_size_t), points]
      coordinates = [c_loc(along_z), coordinates]
    end if
    n = size(points)
    wrong = ''
    if (present(z) .and. .not. present(y)) wrong = 'a rectilinear grid has z and no y'
    if (present(dimension_names)) then
      if (size(dimension_names) /= n) wrong = 'a rectilinear grid needs one name for each dimension'
    end if
    if (wrong == '') wrong = grid_blocks_or_why(start, count, n, blocks)
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_define_rectilinear_grid', wrong, stat, errmsg)
      return
    end if
    description%size = c_sizeof(description)
    description%dimensions = int(n, c_size_t)
    description%points = c_loc(points)
    description%coordinates = c_loc(coordinates)
    description%blocks = size(blocks%start, 2, kind=c_size_t)
    if (description%blocks > 0) then
      description%block_start = c_loc(blocks%start)
      description%block_count = c_loc(blocks%count)
    end if
    if (present(dimension_names)) then
      call names_of(dimension_names, texts, names)
      description%dimension_names = c_loc(names)
    end if
    status = c_output_define_rectilinear_grid(handle_of(output%inside), description, made)
    if (status == GLEAN_OK) then
      grid%id = made%id + 1
      call remember_grid(output%inside, grid%id, blocks, points_of_boxes(blocks))
    end if
    call finish(output%inside, 'glean_output_define_rectilinear_grid', status, stat, errmsg)
  end subroutine define_rectilinear_grid

  ! Block-structured AMR as FLASH has it: the array of a variable is (nxb, nyb, nzb, blocks). `first_block` and `parent` count from 1 over
  ! all ranks; a parent of 0 is none. `lower` and `upper`: (dimensions, blocks), x first. Local.
  subroutine glean_output_define_amr_grid(output, cells_per_block, blocks_total, first_block, level, parent, lower, upper, grid, &
      stat, errmsg)
    type(glean_output), intent(in) :: output
    integer, intent(in) :: cells_per_block(:), blocks_total, first_block, level(:), parent(:)
    real(real64), intent(in) :: lower(:, :), upper(:, :)
    type(glean_grid), intent(inout) :: grid
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_amr_grid) :: description
    integer(c_int64_t), allocatable, target :: cells(:), parents(:)
    integer(c_int), allocatable, target :: levels(:)
    real(c_double), allocatable, target :: from(:, :), to(:, :)
    type(block_list) :: blocks, points
    type(c_id) :: made
    integer(c_int) :: status
    integer :: n, mine

    n = size(cells_per_block)
    mine = size(level)
    if (size(parent) /= mine .or. any(shape(lower) /= [n, mine]) .or. any(shape(upper) /= [n, mine])) then
      call refuse(output%inside, 'glean_output_define_amr_grid', &
          'level and parent need a member for each block; lower and upper have the shape (dimensions, blocks)', stat, errmsg)
      return
    end if
    cells = cells_per_block(n:1:-1)
    levels = level
    parents = int(max(parent, 0), c_int64_t) - 1
    from = lower
    to = upper
    description%size = c_sizeof(description)
    description%dimensions = int(n, c_size_t)
    description%cells_per_block = c_loc(cells)
    description%blocks_total = blocks_total
    description%first_block = first_block - 1
    description%blocks = int(mine, c_size_t)
    if (mine > 0) then
      description%level = c_loc(levels)
      description%parent = c_loc(parents)
      description%lower = c_loc(from)
      description%upper = c_loc(to)
    end if
    status = c_output_define_amr_grid(handle_of(output%inside), description, made)
    if (status == GLEAN_OK) then
      grid%id = made%id + 1
      allocate (blocks%start(n + 1, 1), blocks%count(n + 1, 1))
      blocks%start(:, 1) = 0
      blocks%start(1, 1) = first_block - 1
      blocks%count(:, 1) = [int(mine, int64), cells]
      points = blocks
      points%count(2:, 1) = cells + 1
      call remember_grid(output%inside, grid%id, blocks, points)
    end if
    call finish(output%inside, 'glean_output_define_amr_grid', status, stat, errmsg)
  end subroutine glean_output_define_amr_grid
end module glean_grids
