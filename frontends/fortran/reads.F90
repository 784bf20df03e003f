! SPDX-License-Identifier: BSD-3-Clause
!
! What is read from an input: into arrays of every kind and rank, and attributes. read_kind.inc has the calls for one kind.
module glean_reads
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use glean_values
  use glean_handles
  use glean_c_calls
  use glean_sections
  implicit none
  private
  public :: glean_input_read, glean_input_read_all, glean_input_prefetch, glean_input_attribute, glean_input_variable_attribute

  ! Reads all of a variable, or of a step of it; or, with `start`, the box that begins there and has the shape of the array; dimensions
  ! that the array has not have one element then. `step` counts from 1, and is the first one if it is not given. A section with gaps is
  ! read through a copy. Local. Blocks for storage.
  interface glean_input_read
    module procedure read_int8, read_int16, read_int32, read_int64, read_real32, read_real64, read_text
    module procedure read_box_int8, read_box_int16, read_box_int32, read_box_int64, read_box_real32, read_box_real64, read_box_text
    module procedure read_box64_int8, read_box64_int16, read_box64_int32, read_box64_int64, read_box64_real32, read_box64_real64
    module procedure read_box64_text
  end interface

  ! The same by all ranks of the session together: each reads the box that begins at `start` and has the shape of its array, which may be
  ! empty, of the same variable and step. What goes wrong on one rank is returned on all. Collective. Blocks.
  interface glean_input_read_all
    module procedure read_all_int8, read_all_int16, read_all_int32, read_all_int64, read_all_real32, read_all_real64, read_all_text
    module procedure read_all64_int8, read_all64_int16, read_all64_int32, read_all64_int64, read_all64_real32, read_all64_real64
    module procedure read_all64_text
  end interface

  ! Begins to fetch into the node's memory what reading takes from the storage, in the background: all of a variable, or of a step of it;
  ! or the box of `count` elements that begins at `start`. A step that is not there needs nothing. Local, does not wait.
  interface glean_input_prefetch
    module procedure prefetch_all, prefetch_box, prefetch_box64
  end interface

  ! An attribute of the file, into one value, an array of one dimension, or a text, which is filled up with blanks. `count`: how many
  ! elements it has; where there is no room for all, nothing is read, which without `count` is an error. Local.
  interface glean_input_attribute
    module procedure attribute_int8, attribute_int16, attribute_int32, attribute_int64, attribute_real32, attribute_real64
    module procedure attribute_text
  end interface

  ! An attribute of a variable. Local.
  interface glean_input_variable_attribute
    module procedure variable_attribute_int8, variable_attribute_int16, variable_attribute_int32, variable_attribute_int64
    module procedure variable_attribute_real32, variable_attribute_real64, variable_attribute_text
  end interface

  interface
    integer(c_int) function c_input_read_all(input, variable, step, start, count, memory, data, elements) &
        bind(C, name='glean_input_read_all')
      import
      type(c_ptr), value :: input, data
      type(c_id), value :: variable
      integer(c_int64_t), value :: step
      integer(c_int64_t), intent(in) :: start(*), count(*)
      integer(c_int), value :: memory
      integer(c_size_t), value :: elements
    end function
    integer(c_int) function c_input_prefetch(input, variable, step, start, count) bind(C, name='glean_input_prefetch')
      import
      type(c_ptr), value :: input
      type(c_id), value :: variable
      integer(c_int64_t), value :: step
      integer(c_int64_t), intent(in) :: start(*), count(*)
    end function
  end interface

contains

#define JOIN(first) first

#define KIND integer(int8)
#define NAME int8
#define CODE GLEAN_INT8
#define BYTES 1_int64
#define LENGTH -1_int64
#include "read_kind.inc"
#define KIND integer(int16)
#define NAME int16
#define CODE GLEAN_INT16
#define BYTES 2_int64
#define LENGTH -1_int64
#include "read_kind.inc"
#define KIND integer(int32)
#define NAME int32
#define CODE GLEAN_INT32
#define BYTES 4_int64
#define LENGTH -1_int64
#include "read_kind.inc"
#define KIND integer(int64)
#define NAME int64
#define CODE GLEAN_INT64
#define BYTES 8_int64
#define LENGTH -1_int64
#include "read_kind.inc"
#define KIND real(real32)
#define NAME real32
#define CODE GLEAN_FLOAT32
#define BYTES 4_int64
#define LENGTH -1_int64
#include "read_kind.inc"
#define KIND real(real64)
#define NAME real64
#define CODE GLEAN_FLOAT64
#define BYTES 8_int64
#define LENGTH -1_int64
#include "read_kind.inc"
#define KIND character(len=*)
#define NAME text
#define CODE GLEAN_TEXT
#define BYTES 1_int64
#define LENGTH int(len(data), int64)
#include "read_kind.inc"

  ! `start`: in Fortran's order, from 1; not present: all of the variable. `all_ranks`: collective; what is wrong on this rank the others
  ! hear of in the call.
  subroutine read_section(input, variable, array, code, start, step, stat, errmsg, all_ranks)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    type(c_section), intent(in) :: array
    integer(c_int), intent(in) :: code
    integer(int64), intent(in), optional :: start(:)
    integer, intent(in), optional :: step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    logical, intent(in), optional :: all_ranks
    type(c_section) :: section
    integer(int64), allocatable :: extents(:), from(:), counts(:)
    integer(int8), allocatable, target :: packed(:)
    type(c_ptr) :: to
    character(len=:), allocatable :: wrong, name
    integer(c_int) :: status, of_others
    integer(int64) :: record
    integer :: n
    logical :: together

    together = .false.
    if (present(all_ranks)) together = all_ranks
    name = 'glean_input_read'
    if (together) name = 'glean_input_read_all'
    status = shape_of(input, variable, extents)
    if (status /= GLEAN_OK) then
      if (together .and. associated(input%inside)) of_others = refused_by_all(input)
      call finish(input%inside, name, status, stat, errmsg)
      return
    end if
    n = size(extents)
    section = array
    if (code == GLEAN_TEXT) call as_elements(section, n)
    wrong = why_not(section, extents, start)
    record = 1
    if (present(step)) record = step
    if (record < 1) wrong = 'steps count from 1'
    if (wrong /= '') then
      if (together) of_others = refused_by_all(input)
      call finish(input%inside, name, GLEAN_INVALID_ARGUMENT, stat, errmsg, wrong)
      return
    end if
    counts = extents
    allocate (from(n))
    from = 1
    if (present(start)) then
      from = start
      counts = counts_of(section, n)
    end if
    to = section%first
    if (section%contiguous == 0) then
      allocate (packed(max(section%elements, 1_int64) * section%element_bytes))
      to = c_loc(packed)
    end if
    if (together) then
      status = c_input_read_all(input%inside%handle, c_id(variable%id - 1), record - 1, from(n:1:-1) - 1, counts(n:1:-1), code, to, &
          int(section%elements, c_size_t))
    else
      status = c_input_read(input%inside%handle, c_id(variable%id - 1), record - 1, from(n:1:-1) - 1, counts(n:1:-1), code, to, &
          int(section%elements, c_size_t))
    end if
    ! Where a value does not fit, the others have been read.
    if (section%contiguous == 0 .and. (status == GLEAN_OK .or. status == GLEAN_OUT_OF_RANGE)) call scatter(section, to)
    call finish(input%inside, name, status, stat, errmsg)
  end subroutine read_section

  ! Takes part in a collective read that this rank refuses.
  function refused_by_all(input) result(status)
    type(glean_input), intent(in) :: input
    integer(c_int) :: status
    integer(int64) :: none(1)
    none = 0
    status = c_input_read_all(input%inside%handle, c_id(-1), 0_c_int64_t, none, none, GLEAN_INT8, c_null_ptr, 0_c_size_t)
  end function refused_by_all

  subroutine prefetch_all(input, variable, step, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    integer, intent(in), optional :: step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: extents(:), from(:)
    integer(c_int) :: status
    status = shape_of(input, variable, extents)
    if (status /= GLEAN_OK) then
      call finish(input%inside, 'glean_input_prefetch', status, stat, errmsg)
      return
    end if
    allocate (from(size(extents)))
    from = 1
    call prefetch_box64(input, variable, from, extents, step, stat, errmsg)
  end subroutine prefetch_all

  subroutine prefetch_box(input, variable, start, count, step, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    integer(int32), intent(in) :: start(:), count(:)
    integer, intent(in), optional :: step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call prefetch_box64(input, variable, int(start, int64), int(count, int64), step, stat, errmsg)
  end subroutine prefetch_box

  ! `start`: in Fortran's order, from 1.
  subroutine prefetch_box64(input, variable, start, count, step, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    integer(int64), intent(in) :: start(:), count(:)
    integer, intent(in), optional :: step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: extents(:)
    character(len=:), allocatable :: wrong
    integer(c_int) :: status
    integer(int64) :: record
    integer :: n
    status = shape_of(input, variable, extents)
    if (status /= GLEAN_OK) then
      call finish(input%inside, 'glean_input_prefetch', status, stat, errmsg)
      return
    end if
    n = size(extents)
    record = 1
    if (present(step)) record = step
    wrong = ''
    if (size(start) /= n .or. size(count) /= n) then
      wrong = 'start '//shape_text(start)//' and count '//shape_text(count)//' have not as many numbers as the variable '// &
          shape_text(extents)
    else if (any(start < 1)) then
      wrong = 'start '//shape_text(start)//': indices count from 1'
    else if (record < 1) then
      wrong = 'steps count from 1'
    end if
    if (wrong /= '') then
      call finish(input%inside, 'glean_input_prefetch', GLEAN_INVALID_ARGUMENT, stat, errmsg, wrong)
      return
    end if
    status = c_input_prefetch(input%inside%handle, c_id(variable%id - 1), record - 1, start(n:1:-1) - 1, count(n:1:-1))
    call finish(input%inside, 'glean_input_prefetch', status, stat, errmsg)
  end subroutine prefetch_box64

  ! Of one step, fastest first. Not more than a look into a table.
  function shape_of(input, variable, extents) result(status)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    integer(int64), allocatable, intent(out) :: extents(:)
    integer(c_int) :: status
    type(c_variable_description) :: description
    integer(c_int64_t), pointer :: shape_c(:)
    description%size = c_sizeof(description)
    status = c_input_describe(handle_of(input%inside), c_id(variable%id - 1), description)
    if (status /= GLEAN_OK) return
    allocate (extents(description%dimensions))
    if (size(extents) == 0) return
    call c_f_pointer(description%shape, shape_c, [description%dimensions])
    extents = shape_c(size(shape_c):1:-1)
  end function shape_of

  ! What is wrong with reading into an array; '' when nothing is.
  function why_not(section, extents, start) result(wrong)
    type(c_section), intent(in) :: section
    integer(int64), intent(in) :: extents(:)
    integer(int64), intent(in), optional :: start(:)
    character(len=:), allocatable :: wrong
    wrong = ''
    if (section%sized == 0) then
      wrong = 'an assumed-size array has no shape: give a section of it'
    else if (present(start)) then
      if (size(start) /= size(extents)) then
        wrong = 'start '//shape_text(start)//' has not as many indices as the variable '//shape_text(extents)
      else if (section%rank > size(extents)) then
        wrong = 'an array of the shape '//shape_text(section%extents(1:section%rank))//' does not lie at '//shape_text(start)
      else if (any(start < 1)) then
        wrong = 'start '//shape_text(start)//': indices count from 1'
      end if
    else if (section%rank == size(extents)) then
      if (any(section%extents(1:section%rank) /= extents)) then
        wrong = 'the array has the shape '//shape_text(section%extents(1:section%rank))//', the variable '//shape_text(extents)
      end if
    end if
  end function why_not

  ! `variable` not present: of the file.
  subroutine read_attribute(input, variable, name, section, code, count, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in), optional :: variable
    character(len=*), intent(in) :: name
    type(c_section), intent(in) :: section
    integer(c_int), intent(in) :: code
    integer, intent(inout), optional :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int8), allocatable, target :: packed(:)
    character(len=:), allocatable :: call_name
    character(len=24) :: has
    integer(c_size_t) :: found
    integer(c_int) :: status

    call_name = call_of(variable)
    if (section%rank > 1 .or. section%sized == 0) then
      call finish(input%inside, call_name, GLEAN_INVALID_ARGUMENT, stat, errmsg, 'an attribute has one dimension at most')
      return
    end if
    ! What has no room is not touched, and what has blanks behind it is a shorter text.
    allocate (packed(max(section%elements, 1_int64) * section%element_bytes))
    call gather(section, c_loc(packed))
    found = 0
    status = read_packed(input, variable, name, code, packed, int(section%elements, c_size_t), found)
    if (status == GLEAN_OK .and. found > section%elements .and. .not. present(count)) then
      write (has, '(i0)') found
      call finish(input%inside, call_name, GLEAN_INVALID_ARGUMENT, stat, errmsg, &
          'attribute '''//trim(name)//''' has '//trim(has)//' elements, more than there is room for')
      return
    end if
    if (status == GLEAN_OK .and. present(count)) count = int(found)
    if (status == GLEAN_OK .and. found <= section%elements) then
      if (code == GLEAN_TEXT) packed(found + 1:section%elements) = int(iachar(' '), int8)
      call scatter(section, c_loc(packed))
    end if
    call finish(input%inside, call_name, status, stat, errmsg)
  end subroutine read_attribute

  function read_packed(input, variable, name, code, packed, room, found) result(status)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in), optional :: variable
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: code
    integer(int8), intent(inout), target :: packed(:)
    integer(c_size_t), intent(in) :: room
    integer(c_size_t), intent(inout) :: found
    integer(c_int) :: status
    if (present(variable)) then
      status = c_input_variable_attribute(handle_of(input%inside), c_id(variable%id - 1), c_text(name), code, c_loc(packed), room, found)
    else
      status = c_input_attribute(handle_of(input%inside), c_text(name), code, c_loc(packed), room, found)
    end if
  end function read_packed

  function call_of(variable) result(name)
    type(glean_variable), intent(in), optional :: variable
    character(len=:), allocatable :: name
    name = 'glean_input_attribute'
    if (present(variable)) name = 'glean_input_variable_attribute'
  end function call_of
end module glean_reads
