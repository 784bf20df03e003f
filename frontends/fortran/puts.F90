! SPDX-License-Identifier: BSD-3-Clause
!
! What is put into an output: arrays of every kind and rank, and attributes. put_kind.inc has the calls for one kind.
module glean_puts
  use, intrinsic :: iso_c_binding, only: c_int, c_loc, c_ptr, c_ptrdiff_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use glean_values
  use glean_handles
  use glean_c_calls
  use glean_attribute_calls
  use glean_sections
  implicit none
  private
  public :: glean_output_put, glean_output_put_box, glean_output_define_attribute, glean_output_define_variable_attribute
  public :: glean_output_allow_attribute_change, glean_output_allow_variable_attribute_change
  public :: glean_output_set_attribute, glean_output_set_variable_attribute

  ! Puts all of this rank's blocks of a variable. The array has the shape of the block, or, of several blocks, one more dimension, which
  ! counts them; it may be a section with strides. An array of another rank is taken as the elements of the blocks, one after the other,
  ! and must have no gaps. One memory copy; Blocks only when the pool is full. Local.
  interface glean_output_put
    module procedure put_int8, put_int16, put_int32, put_int64, put_real32, put_real64, put_text
  end interface

  ! Puts the box that begins at `start` and has the shape of the array; dimensions that the array has not have one element. The box lies
  ! inside one of this rank's blocks. Local, as glean_output_put.
  interface glean_output_put_box
    module procedure put_box_int8, put_box_int16, put_box_int32, put_box_int64, put_box_real32, put_box_real64, put_box_text
    module procedure put_box64_int8, put_box64_int16, put_box64_int32, put_box64_int64, put_box64_real32, put_box64_real64
    module procedure put_box64_text
  end interface

  ! An attribute of the file: one value, an array of one dimension, or a text, with all of its blanks. `type` makes an unsigned one of
  ! the same size of integers. Local.
  interface glean_output_define_attribute
    module procedure attribute_int8, attribute_int16, attribute_int32, attribute_int64, attribute_real32, attribute_real64
    module procedure attribute_text
  end interface

  ! An attribute of a variable. `_FillValue` sets its fill value. Local.
  interface glean_output_define_variable_attribute
    module procedure variable_attribute_int8, variable_attribute_int16, variable_attribute_int32, variable_attribute_int64
    module procedure variable_attribute_real32, variable_attribute_real64, variable_attribute_text
  end interface

  ! The value of an attribute for which glean_output_allow_attribute_change was called: of its kind and size, text at most as long; `type`
  ! as it was defined with. From the end of the definitions until the output is closed, as often as the program likes; the last values go
  ! into the file when it is closed. All ranks call it with the same values, or rank 0 alone: those of rank 0 count. Local.
  interface glean_output_set_attribute
    module procedure set_attribute_int8, set_attribute_int16, set_attribute_int32, set_attribute_int64, set_attribute_real32
    module procedure set_attribute_real64, set_attribute_text
  end interface

  ! The same of a variable. Local.
  interface glean_output_set_variable_attribute
    module procedure set_variable_attribute_int8, set_variable_attribute_int16, set_variable_attribute_int32
    module procedure set_variable_attribute_int64, set_variable_attribute_real32, set_variable_attribute_real64
    module procedure set_variable_attribute_text
  end interface

contains

#define JOIN(first) first

#define KIND integer(int8)
#define NAME int8
#define CODE GLEAN_INT8
#define BYTES 1_int64
#define LENGTH -1_int64
#include "put_kind.inc"
#define KIND integer(int16)
#define NAME int16
#define CODE GLEAN_INT16
#define BYTES 2_int64
#define LENGTH -1_int64
#include "put_kind.inc"
#define KIND integer(int32)
#define NAME int32
#define CODE GLEAN_INT32
#define BYTES 4_int64
#define LENGTH -1_int64
#include "put_kind.inc"
#define KIND integer(int64)
#define NAME int64
#define CODE GLEAN_INT64
#define BYTES 8_int64
#define LENGTH -1_int64
#include "put_kind.inc"
#define KIND real(real32)
#define NAME real32
#define CODE GLEAN_FLOAT32
#define BYTES 4_int64
#define LENGTH -1_int64
#include "put_kind.inc"
#define KIND real(real64)
#define NAME real64
#define CODE GLEAN_FLOAT64
#define BYTES 8_int64
#define LENGTH -1_int64
#include "put_kind.inc"
#define KIND character(len=*)
#define NAME text
#define CODE GLEAN_TEXT
#define BYTES 1_int64
#define LENGTH int(len(data), int64)
#include "put_kind.inc"

  subroutine put_blocks(output, variable, array, code, stat, errmsg)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in) :: variable
    type(c_section), intent(in) :: array
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_section) :: section
    type(block_list), pointer :: blocks
    character(len=:), allocatable :: wrong
    integer(c_int) :: status
    integer :: dimensions, n, i

    section = array
    blocks => blocks_of(output, variable)
    if (.not. associated(blocks)) then   ! C says why
      status = c_output_put(handle_of(output%inside), c_id(variable%id - 1), code, section%first, int(section%elements, c_size_t))
      call finish(output%inside, 'glean_output_put', status, stat, errmsg)
      return
    end if
    dimensions = size(blocks%start, 1)
    n = size(blocks%start, 2)
    if (code == GLEAN_TEXT) call as_elements(section, dimensions)
    if (section%sized == 0 .and. sum(product(blocks%count, 1)) == 0) section = c_section(sized=1, contiguous=1)   ! see blocks.F90
    wrong = why_not(section, blocks)
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_put', wrong, stat, errmsg)
      return
    end if
    if (section%contiguous == 1) then
      status = c_output_put(handle_of(output%inside), c_id(variable%id - 1), code, section%first, int(section%elements, c_size_t))
    else if (.not. blocks%placed) then
      status = put_gathered(output, variable, section, code)
    else
      do i = 1, n
        status = put_strided(output, variable, section, blocks%start(:, i), blocks%count(:, i), code, &
            (i - 1) * section%stride_bytes(dimensions + 1))
        if (status /= GLEAN_OK) exit
      end do
    end if
    call finish(output%inside, 'glean_output_put', status, stat, errmsg)
  end subroutine put_blocks

  ! What is wrong with putting an array as the blocks; '' when nothing is.
  function why_not(section, blocks) result(wrong)
    type(c_section), intent(in) :: section
    type(block_list), intent(in) :: blocks
    character(len=:), allocatable :: wrong
    logical :: alike
    integer :: dimensions, n, i
    dimensions = size(blocks%start, 1)
    n = size(blocks%start, 2)
    wrong = ''
    if (section%sized == 0) then
      wrong = 'an assumed-size array has no shape: give a section of it'
      return
    end if
    if (section%elements == 0 .and. all([(any(blocks%count(:, i) == 0), i=1, n)])) return   ! an empty put
    alike = section%rank == dimensions .and. n == 1
    if (section%rank == dimensions + 1) alike = section%extents(section%rank) == n
    if (alike) then
      do i = 1, n
        if (any(section%extents(1:dimensions) /= blocks%count(dimensions:1:-1, i))) then
          wrong = 'the array has the shape '//shape_text(section%extents(1:dimensions))//', this rank''s block '// &
              shape_text(blocks%count(dimensions:1:-1, i))
          return
        end if
      end do
    else if (section%contiguous == 0) then
      wrong = 'a section with gaps and the shape '//shape_text(section%extents(1:section%rank))//' is not what this rank''s blocks are'
    end if
  end function why_not

  ! `start`: in Fortran's order, from 1.
  subroutine put_section(output, variable, array, start, code, stat, errmsg)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in) :: variable
    type(c_section), intent(in) :: array
    integer(int64), intent(in) :: start(:)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_section) :: section
    character(len=:), allocatable :: wrong
    integer(int64) :: count(size(start))
    integer :: n

    n = size(start)
    section = array
    if (code == GLEAN_TEXT) call as_elements(section, n)
    wrong = ''
    if (section%sized == 0) then
      wrong = 'an assumed-size array has no shape: give a section of it'
    else if (section%rank > n) then
      wrong = 'an array of the shape '//shape_text(section%extents(1:section%rank))//' does not lie at '//shape_text(start)
    else if (any(start < 1)) then
      wrong = 'start '//shape_text(start)//': indices count from 1'
    end if
    if (wrong /= '') then
      call refuse(output%inside, 'glean_output_put_box', wrong, stat, errmsg)
      return
    end if
    count = counts_of(section, n)
    call finish(output%inside, 'glean_output_put_box', &
        put_strided(output, variable, section, start(n:1:-1) - 1, count(n:1:-1), code, 0_int64), stat, errmsg)
  end subroutine put_section

  ! One box of C's, whose first element lies `offset` bytes behind that of the section. Where neighbours are not whole elements apart, the
  ! elements are gathered first.
  function put_strided(output, variable, section, start, count, code, offset) result(status)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in) :: variable
    type(c_section), intent(in) :: section
    integer(int64), intent(in) :: start(:), count(:), offset
    integer(c_int), intent(in) :: code
    integer(c_int) :: status
    integer(c_ptrdiff_t) :: strides(size(start))
    integer(int8), allocatable, target :: packed(:)
    type(c_section) :: box
    integer :: n, d

    n = size(start)
    box = section
    box%first = behind(section%first, offset)
    box%rank = min(section%rank, n)
    box%elements = product(count)
    if (box%in_elements == 0) then
      allocate (packed(max(box%elements, 1_int64) * box%element_bytes))
      call gather(box, c_loc(packed))
      box%first = c_loc(packed)
      box%strides(1) = 1
      do d = 2, n
        box%strides(d) = box%strides(d - 1) * count(n + 2 - d)
      end do
    end if
    strides = box%strides(n:1:-1)
    status = c_output_put_box(handle_of(output%inside), c_id(variable%id - 1), int(n, c_size_t), start, count, code, box%first, strides)
  end function put_strided

  ! A section with gaps that is this rank's only block.
  function put_gathered(output, variable, section, code) result(status)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in) :: variable
    type(c_section), intent(in) :: section
    integer(c_int), intent(in) :: code
    integer(c_int) :: status
    integer(int8), allocatable, target :: packed(:)
    allocate (packed(section%elements * section%element_bytes))
    call gather(section, c_loc(packed))
    status = c_output_put(handle_of(output%inside), c_id(variable%id - 1), code, c_loc(packed), int(section%elements, c_size_t))
  end function put_gathered

  ! Null where the module knows of no such variable.
  function blocks_of(output, variable) result(blocks)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in) :: variable
    type(block_list), pointer :: blocks
    nullify (blocks)
    if (.not. associated(output%inside)) return
    if (variable%id < 1 .or. variable%id > size(output%inside%variables)) return
    if (output%inside%variables(variable%id)%known) blocks => output%inside%variables(variable%id)
  end function blocks_of

  ! The attribute's values may change after the definitions. Local.
  subroutine glean_output_allow_attribute_change(output, name, stat, errmsg)
    type(glean_output), intent(in) :: output
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_allow_attribute_change', &
        c_output_allow_attribute_change(handle_of(output%inside), c_text(name)), stat, errmsg)
  end subroutine glean_output_allow_attribute_change

  ! The same of an attribute of a variable. Local.
  subroutine glean_output_allow_variable_attribute_change(output, variable, name, stat, errmsg)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in) :: variable
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(output%inside, 'glean_output_allow_variable_attribute_change', &
        c_output_allow_variable_attribute_change(handle_of(output%inside), c_id(variable%id - 1), c_text(name)), stat, errmsg)
  end subroutine glean_output_allow_variable_attribute_change

  ! `variable` not present: of the file. `late`: it is defined already. `type`: what the file has instead of `code`.
  subroutine give_attribute(output, variable, name, section, code, late, type, stat, errmsg)
    type(glean_output), intent(in) :: output
    type(glean_variable), intent(in), optional :: variable
    character(len=*), intent(in) :: name
    type(c_section), intent(in) :: section
    integer(c_int), intent(in) :: code
    logical, intent(in) :: late
    integer, intent(in), optional :: type
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: values
    integer(int8), allocatable, target :: packed(:)
    character(len=:), allocatable :: call_name
    integer(c_int) :: status, external
    integer(c_size_t) :: count

    call_name = 'glean_output_'//trim(merge('set   ', 'define', late))
    if (present(variable)) call_name = call_name//'_variable'
    call_name = call_name//'_attribute'
    external = code
    if (present(type)) external = int(type, c_int)
    if (section%rank > 1 .or. section%sized == 0) then
      call refuse(output%inside, call_name, 'attribute '//trim(name)//' has more than one dimension', stat, errmsg)
      return
    else if (.not. same_size(external, code)) then
      call refuse(output%inside, call_name, &
          'attribute '//trim(name)//': an integer can be made an unsigned one of its own size, and nothing else', stat, errmsg)
      return
    end if
    values = section%first
    count = int(section%elements, c_size_t)
    if (section%contiguous == 0) then
      allocate (packed(section%elements * section%element_bytes))
      call gather(section, c_loc(packed))
      values = c_loc(packed)
    end if
    if (present(variable) .and. late) then
      status = c_output_set_variable_attribute(handle_of(output%inside), c_id(variable%id - 1), c_text(name), external, values, count)
    else if (present(variable)) then
      status = c_output_define_variable_attribute(handle_of(output%inside), c_id(variable%id - 1), c_text(name), external, values, count)
    else if (late) then
      status = c_output_set_attribute(handle_of(output%inside), c_text(name), external, values, count)
    else
      status = c_output_define_attribute(handle_of(output%inside), c_text(name), external, values, count)
    end if
    call finish(output%inside, call_name, status, stat, errmsg)
  end subroutine give_attribute

  pure logical function same_size(external, code)
    integer(c_int), intent(in) :: external, code
    same_size = external == code .or. (external == code + 1 .and. any(code == [GLEAN_INT8, GLEAN_INT16, GLEAN_INT32, GLEAN_INT64]))
  end function same_size
end module glean_puts
