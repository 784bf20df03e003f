! SPDX-License-Identifier: BSD-3-Clause
!
! The blocks that a rank has of grids and variables: in Fortran's order and from 1 as the program gives them, slowest first and from 0 as
! C has them and as `block_list` keeps them.
module glean_blocks
  use, intrinsic :: iso_c_binding, only: c_char, c_loc, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use glean_handles, only: block_list, c_text, handle_state
  use glean_sections, only: c_section, describe, gather, shape_text
  implicit none
  private
  public :: indices_of, blocks_or_why, grid_blocks_or_why, remember, remember_grid, points_of_boxes, blocks_over, names_of

  interface indices_of
    module procedure indices_of_int32, indices_of_int64
  end interface

contains

  ! (dimensions, blocks), of one block or several. What is neither becomes a block without indices. gfortran 12 takes an empty expression
  ! for an array of assumed size, whose rank `select rank` does not tell; the descriptor does.
  function indices_of_int32(indices) result(blocks)
    integer(int32), dimension(..), intent(in) :: indices
    integer(int64), allocatable :: blocks(:, :)
    integer(int32), allocatable, target :: values(:)
    type(c_section) :: section
    call describe(indices, 4_int64, -1_int64, section)
    allocate (values(max(section%elements, 0_int64)))
    if (size(values) > 0) call gather(section, c_loc(values))
    blocks = columns_of(int(values, int64), section)
  end function indices_of_int32

  function indices_of_int64(indices) result(blocks)
    integer(int64), dimension(..), intent(in) :: indices
    integer(int64), allocatable :: blocks(:, :)
    integer(int64), allocatable, target :: values(:)
    type(c_section) :: section
    call describe(indices, 8_int64, -1_int64, section)
    allocate (values(max(section%elements, 0_int64)))
    if (size(values) > 0) call gather(section, c_loc(values))
    blocks = columns_of(values, section)
  end function indices_of_int64

  function columns_of(values, section) result(columns)
    integer(int64), intent(in) :: values(:)
    type(c_section), intent(in) :: section
    integer(int64), allocatable :: columns(:, :)
    select case (section%rank)
    case (1)
      columns = reshape(values, [size(values), 1])
    case (2)
      columns = reshape(values, max(section%extents(1:2), 0_int64))
    case default
      allocate (columns(0, 1))
    end select
  end function columns_of

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

  ! Of a grid of boxes. `start` and `count` are not allocated where the program has not given them: this rank has nothing then.
  function grid_blocks_or_why(start, count, dimensions, blocks) result(wrong)
    integer(int64), allocatable, intent(in) :: start(:, :), count(:, :)
    integer, intent(in) :: dimensions
    type(block_list), intent(out) :: blocks
    character(len=:), allocatable :: wrong
    wrong = ''
    if (allocated(start) .neqv. allocated(count)) then
      wrong = 'start and count of a grid''s blocks are given together'
    else if (allocated(start)) then
      wrong = blocks_or_why(start, count, dimensions, blocks)
    else
      allocate (blocks%start(dimensions, 0), blocks%count(dimensions, 0))
    end if
  end function grid_blocks_or_why

  subroutine remember_grid(state, id, cells, points)
    type(handle_state), intent(inout) :: state
    integer, intent(in) :: id
    type(block_list), intent(in) :: cells, points
    call remember(state%cells, id, cells)
    call remember(state%points, id, points)
  end subroutine remember_grid

  ! Of boxes of cells: one more in each dimension; none where there is no cell.
  function points_of_boxes(cells) result(points)
    type(block_list), intent(in) :: cells
    type(block_list) :: points
    integer :: i
    points = cells
    do i = 1, size(cells%count, 2)
      points%count(:, i) = merge(0_int64, cells%count(:, i) + 1, any(cells%count(:, i) == 0))
    end do
  end function points_of_boxes

  ! Of a variable over a grid: several components are the fastest dimension.
  function blocks_over(grid, components) result(blocks)
    type(block_list), intent(in) :: grid
    integer, intent(in) :: components
    type(block_list) :: blocks
    integer :: n, i
    blocks = grid
    if (components <= 1) return
    n = size(grid%count, 1)
    deallocate (blocks%start, blocks%count)
    allocate (blocks%start(n + 1, size(grid%start, 2)), blocks%count(n + 1, size(grid%count, 2)))
    do i = 1, size(grid%count, 2)
      blocks%start(:, i) = [grid%start(:, i), 0_int64]
      blocks%count(:, i) = [grid%count(:, i), int(components, int64)]
    end do
  end function blocks_over

  ! Names of dimensions, x first, as C has them. `texts` and `names` are targets of the caller.
  subroutine names_of(dimension_names, texts, names)
    character(len=*), intent(in) :: dimension_names(:)
    character(kind=c_char, len=:), allocatable, target, intent(out) :: texts(:)
    type(c_ptr), allocatable, intent(out) :: names(:)
    integer :: d, n
    n = size(dimension_names)
    allocate (character(len=len(dimension_names) + 1) :: texts(n))
    allocate (names(n))
    do d = 1, n
      texts(d) = c_text(dimension_names(n + 1 - d))
      names(d) = c_loc(texts(d))
    end do
  end subroutine names_of
end module glean_blocks
