! SPDX-License-Identifier: BSD-3-Clause
!
! The calls of glean/glean.h that give attributes of an output, as they are in C. Only the modules of this folder use it.
module glean_attribute_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_ptr, c_size_t
  use glean_c_calls, only: c_id
  implicit none
  public

  interface
    integer(c_int) function c_output_define_attribute(output, name, type, values, count) bind(C, name='glean_output_define_attribute')
      import
      type(c_ptr), value :: output, values
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_output_define_variable_attribute(output, variable, name, type, values, count) &
        bind(C, name='glean_output_define_variable_attribute')
      import
      type(c_ptr), value :: output, values
      type(c_id), value :: variable
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_output_allow_attribute_change(output, name) bind(C, name='glean_output_allow_attribute_change')
      import
      type(c_ptr), value :: output
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_output_allow_variable_attribute_change(output, variable, name) &
        bind(C, name='glean_output_allow_variable_attribute_change')
      import
      type(c_ptr), value :: output
      type(c_id), value :: variable
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_output_set_attribute(output, name, type, values, count) bind(C, name='glean_output_set_attribute')
      import
      type(c_ptr), value :: output, values
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_output_set_variable_attribute(output, variable, name, type, values, count) &
        bind(C, name='glean_output_set_variable_attribute')
      import
      type(c_ptr), value :: output, values
      type(c_id), value :: variable
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type
      integer(c_size_t), value :: count
    end function
  end interface

end module glean_attribute_calls
