! SPDX-License-Identifier: BSD-3-Clause
!
! Meshes whose points lie anywhere: curvilinear and unstructured ones. mesh_kind.inc has the calls for one kind of coordinates and one of
! indices.
module glean_meshes
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int8_t, c_int64_t, c_loc, c_ptr, c_ptrdiff_t, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
  use glean_values
  use glean_handles
  use glean_c_calls
  use glean_blocks
  use glean_sections
  implicit none
  private
  public :: glean_output_define_curvilinear_grid, glean_output_define_unstructured_mesh, glean_lagrange_hexahedron_point

  ! Cells in the order of an array, whose points lie anywhere: `shape` of the whole grid, in cells, and this rank's blocks as of a uniform
  ! grid. `x`, `y` and `z` are the coordinates of their points, one more than cells in each dimension: arrays of the shape of the block, or,
  ! of several blocks, one more dimension, which counts them, or a list of all of them. Without `z` it is 0. Sections are taken from where
  ! they lie. Local.
  interface glean_output_define_curvilinear_grid
    module procedure curvilinear_real32_int32, curvilinear_real32_int64, curvilinear_real64_int32, curvilinear_real64_int64
  end interface

  ! The points and cells of this rank. `types`: of each cell, or one for all. `connectivity`: the numbers of their points, from 1 on, as a
  ! list of one cell after the other or with a column for each cell; `offsets`: where the points of each cell begin in the list, from 1 on,
  ! and at last where they end, one more than cells; they are not needed where each type has a fixed number of points. Local.
  interface glean_output_define_unstructured_mesh
    module procedure unstructured_real32_int32, unstructured_real32_int64, unstructured_real64_int32, unstructured_real64_int64
  end interface

  ! What the connectivity of a mesh is that has no columns.
  integer, parameter :: LIST = -1, NEITHER = -2

contains

#define JOIN(first) first

#define KIND real(real32)
#define INDEX integer(int32)
#define INDEX_BYTES 4_int64
#define NAME real32_int32
#define CODE GLEAN_FLOAT32
#define BYTES 4_int64
#include "mesh_kind.inc"
#define KIND real(real32)
#define INDEX integer(int64)
#define INDEX_BYTES 8_int64
#define NAME real32_int64
#define CODE GLEAN_FLOAT32
#define BYTES 4_int64
#include "mesh_kind.inc"
#define KIND real(real64)
#define INDEX integer(int32)
#define INDEX_BYTES 4_int64
#define NAME real64_int32
#define CODE GLEAN_FLOAT64
#define BYTES 8_int64
#include "mesh_kind.inc"
#define KIND real(real64)
#define INDEX integer(int64)
#define INDEX_BYTES 8_int64
#define NAME real64_int64
#define CODE GLEAN_FLOAT64
#define BYTES 8_int64
#include "mesh_kind.inc"

  ! `start` and `count` are not allocated where the program has not given them.
  subroutine define_curvilinear_grid(output, shape, xyz, has_z, code, grid, start, count, dimension_names, stat, errmsg)
    type(glean_output), intent(in) :: output
    integer(int64), intent(in) :: shape(:)
    type(c_section), intent(in) :: xyz(3)
    logical, intent(in) :: has_z
    integer(c_int), intent(in) :: code
    type(glean_grid), intent(inout) :: grid
    integer(int64), allocatable, intent(in) :: start(:, :), count(:, :)
    character(len=*), intent(in), optional :: dimension_names(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_curvilinear_grid) :: description
    type(c_points), target :: points
    type(block_list), target :: blocks
    type(block_list) :: corners
    integer(int8), allocatable, target :: packed(:)
    integer(c_int64_t), allocatable, target :: cells(:)
    type(c_ptr), allocatable, target :: names(:)
    character(kind=c_char, len=:), allocatable, target :: texts(:)
    character(len=:), allocatable :: wrong
    type(c_id) :: made
    integer(c_int) :: status
    integer :: n

    n = size(shape)
    wrong = why_no_points(xyz, has_z)
    if (present(dimension_names)) then
      if (size(dimension_names) /= n) wrong = 'a curvilinear grid needs one name for each dimension'
    end if
    if (wrong == '') wrong = grid_blocks_or_why(start, count, n, blocks)
    if (wrong == '') then
      corners = points_of_boxes(blocks)
      wrong = why_other_shape(xyz(1), corners)
    end if
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_define_curvilinear_grid', wrong, stat, errmsg)
      return
    end if
    call take_points(xyz, has_z, code, points, packed)
    cells = shape(n:1:-1)
    description%size = c_sizeof(description)
    description%dimensions = int(n, c_size_t)
    description%shape = c_loc(cells)
    description%points = c_loc(points)
    description%blocks = size(blocks%start, 2, kind=c_size_t)
    if (description%blocks > 0) then
      description%block_start = c_loc(blocks%start)
      description%block_count = c_loc(blocks%count)
    end if
    if (present(dimension_names) .and. n > 0) then
      call names_of(dimension_names, texts, names)
      description%dimension_names = c_loc(names)
    end if
    status = c_output_define_curvilinear_grid(handle_of(output%inside), description, made)
    if (status == GLEAN_OK) then
      grid%id = made%id + 1
      call remember_grid(output%inside, grid%id, blocks, corners)
    end if
    call finish(output%inside, 'glean_output_define_curvilinear_grid', status, stat, errmsg)
  end subroutine define_curvilinear_grid

  ! `cells`: how many columns the connectivity has, LIST or NEITHER. `begin` is not allocated where the program has not given offsets.
  subroutine define_unstructured_mesh(output, xyz, has_z, code, types, connectivity, cells, grid, begin, stat, errmsg)
    type(glean_output), intent(in) :: output
    type(c_section), intent(in) :: xyz(3)
    logical, intent(in) :: has_z
    integer(c_int), intent(in) :: code
    integer, intent(in) :: types(:), cells
    integer(int64), intent(in) :: connectivity(:, :)
    type(glean_grid), intent(inout) :: grid
    integer(int64), allocatable, intent(inout) :: begin(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_unstructured_mesh) :: description
    type(c_points), target :: points
    integer(int8), allocatable, target :: packed(:)
    integer(c_int8_t), allocatable, target :: kinds(:)
    integer(c_int64_t), allocatable, target :: offsets(:), numbers(:)
    character(len=:), allocatable :: wrong
    type(c_id) :: made
    integer(c_int) :: status
    integer :: i

    if (cells >= 0 .and. .not. allocated(begin)) begin = [(int(size(connectivity, 1), int64) * i + 1, i=0, cells)]
    wrong = why_no_points(xyz, has_z)
    if (cells == NEITHER) wrong = 'the connectivity of a mesh has one dimension or two'
    if (cells >= 0 .and. size(types) /= cells) wrong = 'a mesh needs one type for each column of its connectivity'
    if (any(types < 1 .or. types > huge(1_c_int8_t))) wrong = 'a mesh has cells of a type that is none'
    if (wrong == '' .and. allocated(begin)) then
      if (size(begin) /= size(types) + 1) wrong = 'offsets of a mesh need one member more than it has cells'
    end if
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_define_unstructured_mesh', wrong, stat, errmsg)
      return
    end if
    call take_points(xyz, has_z, code, points, packed)
    kinds = int(types, c_int8_t)
    numbers = reshape(connectivity, [size(connectivity)]) - 1
    description%size = c_sizeof(description)
    description%points = c_loc(points)
    description%cells = size(kinds, kind=c_size_t)
    if (size(kinds) > 0) description%types = c_loc(kinds)
    description%connectivity_length = size(numbers, kind=c_size_t)
    if (size(numbers) > 0) description%connectivity = c_loc(numbers)
    if (allocated(begin)) then
      offsets = begin - 1
      description%offsets = c_loc(offsets)
    end if
    status = c_output_define_unstructured_mesh(handle_of(output%inside), description, made)
    if (status == GLEAN_OK) then
      grid%id = made%id + 1
      call remember_grid(output%inside, grid%id, list_of(size(kinds, kind=int64)), list_of(xyz(1)%elements))
    end if
    call finish(output%inside, 'glean_output_define_unstructured_mesh', status, stat, errmsg)
  end subroutine define_unstructured_mesh

  ! Of each cell. One type is that of all columns.
  function types_of(types, cells) result(each)
    integer, dimension(..), intent(in) :: types
    integer, intent(in) :: cells
    integer, allocatable, target :: each(:)
    type(c_section) :: section
    call describe(types, int(storage_size(cells) / 8, int64), -1_int64, section)
    allocate (each(max(section%elements, 0_int64)))
    if (size(each) > 0) call gather(section, c_loc(each))
    if (section%rank == 0) each = spread(each(1), 1, max(cells, 0))
  end function types_of

  ! What this rank has of an unstructured mesh.
  function list_of(elements) result(blocks)
    integer(int64), intent(in) :: elements
    type(block_list) :: blocks
    blocks%known = .true.
    blocks%placed = .false.
    blocks%start = reshape([0_int64], [1, 1])
    blocks%count = reshape([elements], [1, 1])
  end function list_of

  function why_no_points(xyz, has_z) result(wrong)
    type(c_section), intent(in) :: xyz(3)
    logical, intent(in) :: has_z
    character(len=:), allocatable :: wrong
    integer :: of, last
    wrong = ''
    last = merge(3, 2, has_z)
    do of = 1, last
      if (xyz(of)%sized == 0) then
        wrong = 'an assumed-size array has no shape: give a section of it'
      else if (any(shape_of(xyz(of)) /= shape_of(xyz(1)))) then
        wrong = 'x, y and z of the points of a mesh have not the same shape'
      end if
    end do
  end function why_no_points

  ! With the rank.
  pure function shape_of(section) result(extents)
    type(c_section), intent(in) :: section
    integer(int64) :: extents(RANK_MAX + 1)
    extents = 0
    extents(1:section%rank) = section%extents(1:section%rank)
    extents(RANK_MAX + 1) = section%rank
  end function shape_of

  ! An array of the rank of the blocks, or of one more where there are several, has their shape; how many elements any other has C sees.
  function why_other_shape(section, corners) result(wrong)
    type(c_section), intent(in) :: section
    type(block_list), intent(in) :: corners
    character(len=:), allocatable :: wrong
    integer :: n, blocks, i
    wrong = ''
    n = size(corners%count, 1)
    blocks = size(corners%count, 2)
    if (.not. ((section%rank == n .and. blocks == 1) .or. section%rank == n + 1)) return
    if (section%rank == n + 1 .and. section%rank > 1) then
      if (section%extents(n + 1) /= blocks) return
    end if
    do i = 1, blocks
      if (all(section%extents(1:n) == corners%count(n:1:-1, i))) cycle
      wrong = 'the coordinates have the shape '//shape_text(section%extents(1:n))//', the points of this rank''s block '// &
          shape_text(corners%count(n:1:-1, i))
      return
    end do
  end function why_other_shape

  ! From where they lie, or, where they are not evenly spaced, from a copy that the library copies: `packed`.
  subroutine take_points(xyz, has_z, code, points, packed)
    type(c_section), intent(in) :: xyz(3)
    logical, intent(in) :: has_z
    integer(c_int), intent(in) :: code
    type(c_points), intent(inout) :: points
    integer(int8), allocatable, target, intent(inout) :: packed(:)
    integer(int64) :: bytes
    integer :: of
    points%size = c_sizeof(points)
    points%type = code
    if (xyz(1)%elements == 0) return
    if (has_z) then
      if (points_in_place(xyz(1), xyz(2), xyz(3), points) == 1) return
    end if
    bytes = xyz(1)%elements * xyz(1)%element_bytes
    allocate (packed(3 * bytes))
    do of = 1, merge(3, 2, has_z)
      call gather(xyz(of), c_loc(packed((of - 1) * bytes + 1)))
    end do
    if (.not. has_z) packed(2 * bytes + 1:) = 0
    points%first = c_loc(packed)
    points%count = int(xyz(1)%elements, c_size_t)
    points%point_stride = 1
    points%component_stride = int(xyz(1)%elements, c_ptrdiff_t)
  end subroutine take_points

  ! Which point of a Lagrange hexahedron, from 1 on, is the i-th along x, the j-th along y and the k-th along z, from 1 to `order` + 1 each.
  ! Local.
  elemental integer function glean_lagrange_hexahedron_point(i, j, k, order) result(point)
    integer, intent(in) :: i, j, k, order
    point = int(c_lagrange_hexahedron_point(int(i - 1, c_size_t), int(j - 1, c_size_t), int(k - 1, c_size_t), int(order, c_size_t))) + 1
  end function glean_lagrange_hexahedron_point
end module glean_meshes
