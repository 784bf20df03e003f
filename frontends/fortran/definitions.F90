! SPDX-License-Identifier: BSD-3-Clause
!
! What an output consists of, but for attributes. The program gives dimensions, shapes and indices in Fortran's order, fastest first and
! from 1; C gets them slowest first and from 0.
module glean_definitions
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_loc, c_ptr, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use glean_values
  use glean_handles
  use glean_c_calls
  use glean_sections, only: shape_text
  implicit none
  private
  public :: glean_output_define_dimension, glean_output_define_unlimited, glean_output_define_uniform_grid
  public :: glean_output_define_amr_grid, glean_output_define_grid_variable, glean_output_define_variable

  interface glean_output_define_dimension
    module procedure define_dimension_int32, define_dimension_int64
  end interface

  interface glean_output_define_uniform_grid
    module procedure define_uniform_grid_int32, define_uniform_grid_int64
  end interface

  ! Without `start` and `count` this rank puts nothing of the variable.
  interface glean_output_define_variable
    module procedure define_variable_without_blocks, define_variable_int32, define_variable_int64
  end interface

  interface indices_of
    module procedure indices_of_int32, indices_of_int64
  end interface

contains

  ! Local.
  subroutine define_dimension_int64(output, name, length, dimension, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: length
    type(glean_dimension), intent(inout) :: dimension
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_id) :: made
    integer(c_int) :: status
    if (length < 0) then
      call refuse(output%inside, 'glean_output_define_dimension', 'dimension '//trim(name)//' has a negative length', &
          stat, errmsg)
      return
    end if
    status = c_output_define_dimension(handle_of(output%inside), c_text(name), length, made)
    if (status == GLEAN_OK) dimension%id = made%id + 1
    call finish(output%inside, 'glean_output_define_dimension', status, stat, errmsg)
  end subroutine define_dimension_int64

  subroutine define_dimension_int32(output, name, length, dimension, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: length
    type(glean_dimension), intent(inout) :: dimension
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call define_dimension_int64(output, name, int(length, int64), dimension, stat, errmsg)
  end subroutine define_dimension_int32

  ! The record dimension; at most one. Local.
  subroutine glean_output_define_unlimited(output, name, dimension, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    type(glean_dimension), intent(inout) :: dimension
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_id) :: made
    integer(c_int) :: status
    status = c_output_define_unlimited(handle_of(output%inside), c_text(name), made)
    if (status == GLEAN_OK) then
      dimension%id = made%id + 1
      output%inside%unlimited = made%id
    end if
    call finish(output%inside, 'glean_output_define_unlimited', status, stat, errmsg)
  end subroutine glean_output_define_unlimited

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
    character(kind=c_char, len=:), allocatable, target :: names(:)
    type(c_ptr), allocatable, target :: names_c(:)
    character(len=:), allocatable :: wrong
    type(c_id) :: made
    integer(c_int) :: status
    integer :: d, n

    n = size(shape)
    wrong = ''
    if (size(origin) /= n .or. size(spacing) /= n) wrong = 'shape, origin and spacing of a uniform grid have not the same size'
    if (present(dimension_names)) then
      if (size(dimension_names) /= n) wrong = 'a uniform grid needs one name for each dimension'
    end if
    if (allocated(start) .neqv. allocated(count)) wrong = 'start and count of a grid''s blocks are given together'
    if (wrong == '' .and. allocated(start)) then
      wrong = blocks_or_why(start, count, n, blocks)
    else
      allocate (blocks%start(n, 0), blocks%count(n, 0))
    end if
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
      allocate (character(len=len(dimension_names) + 1) :: names(n))
      allocate (names_c(n))
      do d = 1, n
        names(d) = c_text(dimension_names(n + 1 - d))
        names_c(d) = c_loc(names(d))
      end do
      description%dimension_names = c_loc(names_c)
    end if
    status = c_output_define_uniform_grid(handle_of(output%inside), description, made)
    if (status == GLEAN_OK) then
      grid%id = made%id + 1
      call remember(output%inside%grids, grid%id, blocks)
    end if
    call finish(output%inside, 'glean_output_define_uniform_grid', status, stat, errmsg)
  end subroutine define_uniform_grid

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
    type(block_list) :: blocks
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
      call remember(output%inside%grids, grid%id, blocks)
    end if
    call finish(output%inside, 'glean_output_define_amr_grid', status, stat, errmsg)
  end subroutine glean_output_define_amr_grid

  ! An array over a grid: its shape and this rank's blocks are the grid's. Local.
  subroutine glean_output_define_grid_variable(output, name, external, grid, variable, fill, per_step, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer, intent(in) :: external
    type(glean_grid), intent(in) :: grid
    type(glean_variable), intent(inout) :: variable
    integer, intent(in), optional :: fill
    logical, intent(in), optional :: per_step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_id) :: made
    integer(c_int) :: status
    status = c_output_define_grid_variable(handle_of(output%inside), c_text(name), int(external, c_int), &
        c_id(grid%id - 1), options_of(fill, per_step), made)
    if (status == GLEAN_OK) then
      variable%id = made%id + 1
      call remember(output%inside%variables, variable%id, output%inside%grids(grid%id))
    end if
    call finish(output%inside, 'glean_output_define_grid_variable', status, stat, errmsg)
  end subroutine glean_output_define_grid_variable

  ! An array over dimensions, fastest first; an unlimited one only at the end, which makes it a record variable. `start` and `count`: what
  ! this rank will put, one block (dimensions) or several (dimensions, blocks), without the unlimited dimension. No dimensions: a scalar,
  ! whose block has no indices. Local.
  subroutine define_variable_int64(output, name, external, dimensions, start, count, variable, fill, per_step, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer, intent(in) :: external
    type(glean_dimension), intent(in) :: dimensions(:)
    integer(int64), dimension(..), intent(in) :: start, count
    type(glean_variable), intent(inout) :: variable
    integer, intent(in), optional :: fill
    logical, intent(in), optional :: per_step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(block_list) :: blocks
    type(c_id) :: made, ids(size(dimensions))
    character(len=:), allocatable :: wrong
    integer(c_int) :: status
    integer :: n

    n = size(dimensions)
    ids%id = int(dimensions(n:1:-1)%id - 1, c_int)
    if (associated(output%inside)) n = n - count_of(ids%id, output%inside%unlimited)
    wrong = blocks_or_why(indices_of(start), indices_of(count), n, blocks)
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_define_variable', 'variable '//trim(name)//': '//wrong, stat, errmsg)
      return
    end if
    status = c_output_define_variable(handle_of(output%inside), c_text(name), int(external, c_int), ids, size(ids, kind=c_size_t), &
        blocks%start, blocks%count, size(blocks%start, 2, kind=c_size_t), options_of(fill, per_step), made)
    if (status == GLEAN_OK) then
      variable%id = made%id + 1
      call remember(output%inside%variables, variable%id, blocks)
    end if
    call finish(output%inside, 'glean_output_define_variable', status, stat, errmsg)
  end subroutine define_variable_int64

  subroutine define_variable_int32(output, name, external, dimensions, start, count, variable, fill, per_step, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer, intent(in) :: external
    type(glean_dimension), intent(in) :: dimensions(:)
    integer(int32), dimension(..), intent(in) :: start, count
    type(glean_variable), intent(inout) :: variable
    integer, intent(in), optional :: fill
    logical, intent(in), optional :: per_step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call define_variable_int64(output, name, external, dimensions, indices_of(start), indices_of(count), variable, fill, per_step, &
        stat, errmsg)
  end subroutine define_variable_int32

  subroutine define_variable_without_blocks(output, name, external, dimensions, variable, fill, per_step, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer, intent(in) :: external
    type(glean_dimension), intent(in) :: dimensions(:)
    type(glean_variable), intent(inout) :: variable
    integer, intent(in), optional :: fill
    logical, intent(in), optional :: per_step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64) :: none(size(dimensions), 0)
    call define_variable_int64(output, name, external, dimensions, none, none, variable, fill, per_step, stat, errmsg)
  end subroutine define_variable_without_blocks

  function options_of(fill, per_step) result(options)
    integer, intent(in), optional :: fill
    logical, intent(in), optional :: per_step
    type(c_variable_options) :: options
    options%size = c_sizeof(options)
    if (present(fill)) options%fill = int(fill, c_int)
    if (present(per_step)) options%per_step = merge(1_c_int, 0_c_int, per_step)
  end function options_of

  pure integer function count_of(ids, id)
    integer(c_int), intent(in) :: ids(:)
    integer, intent(in) :: id
    count_of = count(ids == id)
  end function count_of

  ! (dimensions, blocks), of one block or several. What is neither becomes a block without indices.
  function indices_of_int32(indices) result(blocks)
    integer(int32), dimension(..), intent(in) :: indices
    integer(int64), allocatable :: blocks(:, :)
    select rank (indices)
    rank (1)
      blocks = reshape(int(indices, int64), [size(indices), 1])
    rank (2)
      blocks = int(indices, int64)
    rank default
      allocate (blocks(0, 1))
    end select
  end function indices_of_int32

  function indices_of_int64(indices) result(blocks)
    integer(int64), dimension(..), intent(in) :: indices
    integer(int64), allocatable :: blocks(:, :)
    select rank (indices)
    rank (1)
      blocks = reshape(indices, [size(indices), 1])
    rank (2)
      blocks = indices
    rank default
      allocate (blocks(0, 1))
    end select
  end function indices_of_int64

  ! The blocks as C has them, or what is wrong; '' when nothing is.
  function blocks_or_why(start, count, dimensions, blocks) result(wrong)
    integer(int64), intent(in) :: start(:, :), count(:, :)
    integer, intent(in) :: dimensions
    type(block_list), intent(out) :: blocks
    character(len=:), allocatable :: wrong
    integer :: i
    wrong = ''
    if (any(shape(start) /= shape(count))) then
      wrong = 'start has the shape '//shape_text(shape(start, int64))//', count '//shape_text(shape(count, int64))
    else if (size(start, 2) > 0 .and. size(start, 1) /= dimensions) then
      wrong = 'start and count need one index for each dimension but the unlimited one'
    else
      do i = 1, size(start, 2)
        if (any(start(:, i) < 1)) wrong = 'start '//shape_text(start(:, i))//': indices count from 1'
        if (any(count(:, i) < 0)) wrong = 'count '//shape_text(count(:, i))//' is negative'
      end do
    end if
    if (wrong /= '') return
    blocks%known = .true.
    blocks%start = start(size(start, 1):1:-1, :) - 1
    blocks%count = count(size(count, 1):1:-1, :)
  end function blocks_or_why

  subroutine remember(list, id, blocks)
    type(block_list), allocatable, intent(inout) :: list(:)
    integer, intent(in) :: id
    type(block_list), intent(in) :: blocks
    type(block_list), allocatable :: longer(:)
    if (id > size(list)) then
      allocate (longer(id))
      longer(1:size(list)) = list
      call move_alloc(longer, list)
    end if
    list(id) = blocks
    list(id)%known = .true.
  end subroutine remember
end module glean_definitions
