! SPDX-License-Identifier: BSD-3-Clause
!
! What an output consists of, but for attributes, grids (grids.F90) and meshes (meshes.F90). The program gives dimensions, shapes and
! indices in Fortran's order, fastest first and from 1; C gets them slowest first and from 0.
module glean_definitions
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use glean_values
  use glean_handles
  use glean_c_calls
  use glean_blocks
  implicit none
  private
  public :: glean_output_define_dimension, glean_output_define_unlimited, glean_output_set_time
  public :: glean_output_define_grid_variable, glean_output_define_variable

  interface glean_output_define_dimension
    module procedure define_dimension_int32, define_dimension_int64
  end interface

  ! Without `start` and `count` this rank puts nothing of the variable.
  interface glean_output_define_variable
    module procedure define_variable_without_blocks, define_variable_int32, define_variable_int64
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

  ! An array over a grid: its shape and this rank's blocks are the grid's. `centring` GLEAN_POINTS: it has one more in each dimension than
  ! cells, or of an unstructured mesh one for each point. Several `components` (3 of a vector, 9 of a tensor) are the first dimension of the
  ! array. With `per_step` the record dimension is the last one; where there is none yet, one called `time` is defined. Local.
  subroutine glean_output_define_grid_variable(output, name, external, grid, variable, fill, per_step, centring, components, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer, intent(in) :: external
    type(glean_grid), intent(in) :: grid
    type(glean_variable), intent(inout) :: variable
    integer, intent(in), optional :: fill
    logical, intent(in), optional :: per_step
    integer, intent(in), optional :: centring, components
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_variable_options) :: options
    type(c_id) :: made
    integer(c_int) :: status

    options = options_of(fill, per_step)
    if (present(centring)) options%centring = int(centring, c_int)
    options%components = 1
    if (present(components)) options%components = merge(int(components, c_int), -1_c_int, components /= 0)   ! for C, 0 is not said
    if (.not. has_grid(output, grid)) then
      call refuse(output%inside, 'glean_output_define_grid_variable', 'variable '//trim(name)//' is defined on a grid that this output '// &
          'does not have', stat, errmsg)
      return
    end if
    status = c_output_define_grid_variable(handle_of(output%inside), c_text(name), int(external, c_int), c_id(grid%id - 1), options, made)
    if (status == GLEAN_OK) then
      variable%id = made%id + 1
      if (options%centring == GLEAN_POINTS) then
        call remember(output%inside%variables, variable%id, blocks_over(output%inside%points(grid%id), int(options%components)))
      else
        call remember(output%inside%variables, variable%id, blocks_over(output%inside%cells(grid%id), int(options%components)))
      end if
    end if
    call finish(output%inside, 'glean_output_define_grid_variable', status, stat, errmsg)
  end subroutine glean_output_define_grid_variable

  ! What is no output says so itself.
  logical function has_grid(output, grid)
    type(glean_output), intent(in) :: output
    type(glean_grid), intent(in) :: grid
    has_grid = .true.
    if (.not. associated(output%inside)) return
    has_grid = grid%id >= 1 .and. grid%id <= size(output%inside%cells)
    if (has_grid) has_grid = output%inside%cells(grid%id)%known
  end function has_grid

  ! The time of the next step, until it is set again; that of rank 0 counts. All ranks set it for the first time before definitions end,
  ! with the same unit, such as 's'. Local.
  subroutine glean_output_set_time(output, time, unit, stat, errmsg)
    type(glean_output), intent(in) :: output
    real(real64), intent(in) :: time
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable :: named
    named = ''
    if (present(unit)) named = unit
    call finish(output%inside, 'glean_output_set_time', c_output_set_time(handle_of(output%inside), real(time, c_double), c_text(named)), &
        stat, errmsg)
  end subroutine glean_output_set_time

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

end module glean_definitions
