! SPDX-License-Identifier: BSD-3-Clause
!
! Arrays of the program as section.h describes them. An assumed-rank dummy argument is a descriptor: gfortran passes a section with its
! strides, and makes no copy of it.
module glean_sections
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use glean_c_calls, only: c_points
  implicit none
  private
  public :: RANK_MAX, c_section, describe, gather, scatter, points_in_place, behind, as_elements, shape_text, counts_of

  integer, parameter :: RANK_MAX = 15

  type, bind(C) :: c_section
    type(c_ptr) :: first = c_null_ptr
    integer(c_int64_t) :: element_bytes = 0
    integer(c_int32_t) :: rank = 0, contiguous = 0, in_elements = 0, sized = 0
    integer(c_int64_t) :: elements = 0, extents(RANK_MAX + 1) = 0, strides(RANK_MAX + 1) = 0, stride_bytes(RANK_MAX + 1) = 0
  end type c_section

  interface
    subroutine describe(array, element_bytes, text_length, section) bind(C, name='glean_fortran_describe')
      import
      type(*), dimension(..), intent(in) :: array
      integer(c_int64_t), value :: element_bytes, text_length
      type(c_section), intent(inout) :: section
    end subroutine
    subroutine gather(section, packed) bind(C, name='glean_fortran_gather')
      import
      type(c_section), intent(in) :: section
      type(c_ptr), value :: packed
    end subroutine
    subroutine scatter(section, packed) bind(C, name='glean_fortran_scatter')
      import
      type(c_section), intent(in) :: section
      type(c_ptr), value :: packed
    end subroutine
    integer(c_int) function points_in_place(x, y, z, points) bind(C, name='glean_fortran_points_in_place')
      import
      type(c_section), intent(in) :: x, y, z
      type(c_points), intent(inout) :: points
    end function
    type(c_ptr) function behind(address, bytes) bind(C, name='glean_fortran_behind')
      import
      type(c_ptr), value :: address
      integer(c_int64_t), value :: bytes
    end function
  end interface

contains

  ! Texts of one character are elements of a variable that has no dimension for their length.
  subroutine as_elements(section, dimensions)
    type(c_section), intent(inout) :: section
    integer, intent(in) :: dimensions
    if (section%rank <= dimensions .or. section%rank == 0) return
    if (section%extents(1) /= 1) return
    section%extents = eoshift(section%extents, 1)
    section%strides = eoshift(section%strides, 1)
    section%stride_bytes = eoshift(section%stride_bytes, 1)
    section%rank = section%rank - 1
  end subroutine as_elements

  ! The box that an array covers in `dimensions` dimensions, fastest first: those that the array has not have one element.
  function counts_of(section, dimensions) result(counts)
    type(c_section), intent(in) :: section
    integer, intent(in) :: dimensions
    integer(int64) :: counts(dimensions)
    counts = 1
    counts(1:section%rank) = section%extents(1:section%rank)
  end function counts_of

  ! '(3, 4)'
  function shape_text(extents) result(text)
    integer(int64), intent(in) :: extents(:)
    character(len=:), allocatable :: text
    character(len=24) :: number
    integer :: d
    text = '('
    do d = 1, size(extents)
      write (number, '(i0)') extents(d)
      if (d > 1) text = text//', '
      text = text//trim(number)
    end do
    text = text//')'
  end function shape_text
end module glean_sections
