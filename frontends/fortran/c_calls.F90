! SPDX-License-Identifier: BSD-3-Clause
!
! The calls of glean/glean.h as they are in C. Only the modules of this folder use it.
module glean_c_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_null_ptr, c_ptr, c_ptrdiff_t, c_size_t
  implicit none
  public

  type, bind(C) :: c_setting
    type(c_ptr) :: key = c_null_ptr, value = c_null_ptr
  end type c_setting
  ! A dimension, variable or grid.
  type, bind(C) :: c_id
    integer(c_int) :: id = -1
  end type c_id

  type, bind(C) :: c_output_options
    integer(c_size_t) :: size = 0
    integer(c_int) :: existing = 0
  end type c_output_options

  type, bind(C) :: c_variable_options
    integer(c_size_t) :: size = 0
    integer(c_int) :: fill = 0, per_step = 0, centring = 0, components = 0
  end type c_variable_options

  type, bind(C) :: c_input_options
    integer(c_size_t) :: size = 0
    integer(c_int) :: reading = 0
    real(c_double) :: seconds = 0
  end type c_input_options

  type, bind(C) :: c_uniform_grid
    integer(c_size_t) :: size = 0, dimensions = 0
    type(c_ptr) :: shape = c_null_ptr, origin = c_null_ptr, spacing = c_null_ptr
    integer(c_size_t) :: blocks = 0
    type(c_ptr) :: block_start = c_null_ptr, block_count = c_null_ptr, dimension_names = c_null_ptr
  end type c_uniform_grid

  type, bind(C) :: c_rectilinear_grid
    integer(c_size_t) :: size = 0, dimensions = 0
    type(c_ptr) :: points = c_null_ptr, coordinates = c_null_ptr
    integer(c_size_t) :: blocks = 0
    type(c_ptr) :: block_start = c_null_ptr, block_count = c_null_ptr, dimension_names = c_null_ptr
  end type c_rectilinear_grid

  type, bind(C) :: c_points
    integer(c_size_t) :: size = 0
    integer(c_int) :: type = 0
    type(c_ptr) :: first = c_null_ptr
    integer(c_size_t) :: count = 0
    integer(c_ptrdiff_t) :: point_stride = 0, component_stride = 0
  end type c_points

  type, bind(C) :: c_curvilinear_grid
    integer(c_size_t) :: size = 0, dimensions = 0
    type(c_ptr) :: shape = c_null_ptr
    integer(c_size_t) :: blocks = 0
    type(c_ptr) :: block_start = c_null_ptr, block_count = c_null_ptr, points = c_null_ptr, dimension_names = c_null_ptr
  end type c_curvilinear_grid

  type, bind(C) :: c_unstructured_mesh
    integer(c_size_t) :: size = 0
    type(c_ptr) :: points = c_null_ptr
    integer(c_size_t) :: cells = 0
    type(c_ptr) :: types = c_null_ptr, offsets = c_null_ptr, connectivity = c_null_ptr
    integer(c_size_t) :: connectivity_length = 0
  end type c_unstructured_mesh

  type, bind(C) :: c_amr_grid
    integer(c_size_t) :: size = 0, dimensions = 0
    type(c_ptr) :: cells_per_block = c_null_ptr
    integer(c_int64_t) :: blocks_total = 0, first_block = 0
    integer(c_size_t) :: blocks = 0
    type(c_ptr) :: level = c_null_ptr, parent = c_null_ptr, lower = c_null_ptr, upper = c_null_ptr
  end type c_amr_grid

  type, bind(C) :: c_statistics
    integer(c_size_t) :: size = 0
    real(c_double) :: blocked_seconds = 0
    integer(c_int64_t) :: captured_bytes = 0, puts = 0, pool_budget_bytes = 0, pool_high_water_bytes = 0
    integer(c_int64_t) :: steps_dropped = 0, spilled_bytes = 0, synchronous_bytes = 0
  end type c_statistics

  type, bind(C) :: c_output_status
    integer(c_size_t) :: size = 0
    type(c_ptr) :: path = c_null_ptr
    integer(c_int) :: state = 0
    integer(c_int64_t) :: steps_ended = 0, steps_staged = 0, steps_written = 0, steps_durable = 0
    type(c_ptr) :: error = c_null_ptr
    integer(c_int64_t) :: steps_dropped = 0
  end type c_output_status

  type, bind(C) :: c_variable_description
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int) :: external = 0, per_step = 0
    integer(c_size_t) :: dimensions = 0
    type(c_ptr) :: shape = c_null_ptr
    integer(c_size_t) :: names = 0
    type(c_ptr) :: dimension_names = c_null_ptr
  end type c_variable_description

  type, bind(C) :: c_attribute_description
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int) :: external = 0
    integer(c_size_t) :: elements = 0
  end type c_attribute_description

  interface
    integer(c_size_t) function c_strlen(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
    end function
    type(c_ptr) function c_version() bind(C, name='glean_version')
      import
    end function
    type(c_ptr) function c_status_name(status) bind(C, name='glean_status_name')
      import
      integer(c_int), value :: status
    end function

    integer(c_int) function c_session_open(comm, settings, setting_count, session, message, message_bytes) &
        bind(C, name='glean_fortran_session_open')
      import
      integer(c_int), value :: comm
      type(c_setting), intent(in) :: settings(*)
      integer(c_size_t), value :: setting_count
      type(c_ptr), intent(inout) :: session
      character(kind=c_char), intent(inout) :: message(*)
      integer(c_size_t), value :: message_bytes
    end function
    integer(c_int) function c_session_is_writer(session, is_writer) bind(C, name='glean_session_is_writer')
      import
      type(c_ptr), value :: session
      integer(c_int), intent(inout) :: is_writer
    end function
    integer(c_int) function c_session_comm(session, comm) bind(C, name='glean_fortran_session_comm')
      import
      type(c_ptr), value :: session
      integer(c_int), intent(inout) :: comm
    end function
    integer(c_int) function c_session_wait(session, level, seconds) bind(C, name='glean_session_wait')
      import
      type(c_ptr), value :: session
      integer(c_int), value :: level
      real(c_double), value :: seconds
    end function
    integer(c_int) function c_session_close(session) bind(C, name='glean_session_close')
      import
      type(c_ptr), value :: session
    end function
    subroutine c_session_free(session) bind(C, name='glean_session_free')
      import
      type(c_ptr), value :: session
    end subroutine
    integer(c_int) function c_session_statistics(session, statistics) bind(C, name='glean_session_statistics')
      import
      type(c_ptr), value :: session
      type(c_statistics), intent(inout) :: statistics
    end function
    integer(c_int) function c_session_outputs(session, count) bind(C, name='glean_session_outputs')
      import
      type(c_ptr), value :: session
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_session_output(session, index, status) bind(C, name='glean_session_output')
      import
      type(c_ptr), value :: session
      integer(c_size_t), value :: index
      type(c_output_status), intent(inout) :: status
    end function
    type(c_ptr) function c_session_message(session) bind(C, name='glean_session_message')
      import
      type(c_ptr), value :: session
    end function

    integer(c_int) function c_output_open(session, path, format, options, output) bind(C, name='glean_output_open')
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: format
      type(c_output_options), intent(in) :: options
      type(c_ptr), intent(inout) :: output
    end function
    integer(c_int) function c_output_append(session, path, output) bind(C, name='glean_output_append')
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: output
    end function
    type(c_ptr) function c_output_message(output) bind(C, name='glean_output_message')
      import
      type(c_ptr), value :: output
    end function
    integer(c_int) function c_output_define_dimension(output, name, length, dimension) bind(C, name='glean_output_define_dimension')
      import
      type(c_ptr), value :: output
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: length
      type(c_id), intent(inout) :: dimension
    end function
    integer(c_int) function c_output_define_unlimited(output, name, dimension) bind(C, name='glean_output_define_unlimited')
      import
      type(c_ptr), value :: output
      character(kind=c_char), intent(in) :: name(*)
      type(c_id), intent(inout) :: dimension
    end function
    integer(c_int) function c_output_define_uniform_grid(output, description, grid) bind(C, name='glean_output_define_uniform_grid')
      import
      type(c_ptr), value :: output
      type(c_uniform_grid), intent(in) :: description
      type(c_id), intent(inout) :: grid
    end function
    integer(c_int) function c_output_define_amr_grid(output, description, grid) bind(C, name='glean_output_define_amr_grid')
      import
      type(c_ptr), value :: output
      type(c_amr_grid), intent(in) :: description
      type(c_id), intent(inout) :: grid
    end function
    integer(c_int) function c_output_define_rectilinear_grid(output, description, grid) &
        bind(C, name='glean_output_define_rectilinear_grid')
      import
      type(c_ptr), value :: output
      type(c_rectilinear_grid), intent(in) :: description
      type(c_id), intent(inout) :: grid
    end function
    integer(c_int) function c_output_define_curvilinear_grid(output, description, grid) &
        bind(C, name='glean_output_define_curvilinear_grid')
      import
      type(c_ptr), value :: output
      type(c_curvilinear_grid), intent(in) :: description
      type(c_id), intent(inout) :: grid
    end function
    integer(c_int) function c_output_define_unstructured_mesh(output, description, grid) &
        bind(C, name='glean_output_define_unstructured_mesh')
      import
      type(c_ptr), value :: output
      type(c_unstructured_mesh), intent(in) :: description
      type(c_id), intent(inout) :: grid
    end function
    pure integer(c_size_t) function c_lagrange_hexahedron_point(i, j, k, order) bind(C, name='glean_lagrange_hexahedron_point')
      import
      integer(c_size_t), value, intent(in) :: i, j, k, order
    end function
    integer(c_int) function c_output_set_time(output, time, unit) bind(C, name='glean_output_set_time')
      import
      type(c_ptr), value :: output
      real(c_double), value :: time
      character(kind=c_char), intent(in) :: unit(*)
    end function
    integer(c_int) function c_output_define_grid_variable(output, name, external, grid, options, variable) &
        bind(C, name='glean_output_define_grid_variable')
      import
      type(c_ptr), value :: output
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: external
      type(c_id), value :: grid
      type(c_variable_options), intent(in) :: options
      type(c_id), intent(inout) :: variable
    end function
    integer(c_int) function c_output_define_variable(output, name, external, dimensions, dimension_count, block_start, block_count, &
        blocks, options, variable) bind(C, name='glean_output_define_variable')
      import
      type(c_ptr), value :: output
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: external
      type(c_id), intent(in) :: dimensions(*)
      integer(c_size_t), value :: dimension_count
      integer(c_int64_t), intent(in) :: block_start(*), block_count(*)
      integer(c_size_t), value :: blocks
      type(c_variable_options), intent(in) :: options
      type(c_id), intent(inout) :: variable
    end function
    integer(c_int) function c_output_end_definitions(output) bind(C, name='glean_output_end_definitions')
      import
      type(c_ptr), value :: output
    end function
    integer(c_int) function c_output_begin_step(output) bind(C, name='glean_output_begin_step')
      import
      type(c_ptr), value :: output
    end function
    integer(c_int) function c_output_put(output, variable, memory, data, elements) bind(C, name='glean_output_put')
      import
      type(c_ptr), value :: output, data
      type(c_id), value :: variable
      integer(c_int), value :: memory
      integer(c_size_t), value :: elements
    end function
    integer(c_int) function c_output_put_box(output, variable, dimensions, start, count, memory, first, strides) &
        bind(C, name='glean_output_put_box')
      import
      type(c_ptr), value :: output, first
      type(c_id), value :: variable
      integer(c_size_t), value :: dimensions
      integer(c_int64_t), intent(in) :: start(*), count(*)
      integer(c_int), value :: memory
      integer(c_ptrdiff_t), intent(in) :: strides(*)
    end function
    integer(c_int) function c_output_fail(output, status, why) bind(C, name='glean_output_fail')
      import
      type(c_ptr), value :: output
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: why(*)
    end function
    integer(c_int) function c_output_end_step(output) bind(C, name='glean_output_end_step')
      import
      type(c_ptr), value :: output
    end function
    integer(c_int) function c_output_find_variable(output, name, variable) bind(C, name='glean_output_find_variable')
      import
      type(c_ptr), value :: output
      character(kind=c_char), intent(in) :: name(*)
      type(c_id), intent(inout) :: variable
    end function
    integer(c_int) function c_output_wait(output, level, seconds) bind(C, name='glean_output_wait')
      import
      type(c_ptr), value :: output
      integer(c_int), value :: level
      real(c_double), value :: seconds
    end function
    integer(c_int) function c_output_reached(output, level, reached) bind(C, name='glean_output_reached')
      import
      type(c_ptr), value :: output
      integer(c_int), value :: level
      integer(c_int), intent(inout) :: reached
    end function
    integer(c_int) function c_output_close(output) bind(C, name='glean_output_close')
      import
      type(c_ptr), value :: output
    end function
    integer(c_int) function c_output_close_at(output, level, seconds) bind(C, name='glean_output_close_at')
      import
      type(c_ptr), value :: output
      integer(c_int), value :: level
      real(c_double), value :: seconds
    end function
    subroutine c_output_free(output) bind(C, name='glean_output_free')
      import
      type(c_ptr), value :: output
    end subroutine

    integer(c_int) function c_input_open(session, path, options, input) bind(C, name='glean_input_open')
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      type(c_input_options), intent(in) :: options
      type(c_ptr), intent(inout) :: input
    end function
    integer(c_int) function c_session_restart(session, pattern, seconds, input) bind(C, name='glean_session_restart')
      import
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: pattern(*)
      real(c_double), value :: seconds
      type(c_ptr), intent(inout) :: input
    end function
    type(c_ptr) function c_input_path(input) bind(C, name='glean_input_path')
      import
      type(c_ptr), value :: input
    end function
    type(c_ptr) function c_input_message(input) bind(C, name='glean_input_message')
      import
      type(c_ptr), value :: input
    end function
    integer(c_int) function c_input_steps(input, steps) bind(C, name='glean_input_steps')
      import
      type(c_ptr), value :: input
      integer(c_int64_t), intent(inout) :: steps
    end function
    integer(c_int) function c_input_variables(input, count) bind(C, name='glean_input_variables')
      import
      type(c_ptr), value :: input
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_input_describe(input, variable, description) bind(C, name='glean_input_describe')
      import
      type(c_ptr), value :: input
      type(c_id), value :: variable
      type(c_variable_description), intent(inout) :: description
    end function
    integer(c_int) function c_input_find_variable(input, name, variable) bind(C, name='glean_input_find_variable')
      import
      type(c_ptr), value :: input
      character(kind=c_char), intent(in) :: name(*)
      type(c_id), intent(inout) :: variable
    end function
    integer(c_int) function c_input_read(input, variable, step, start, count, memory, data, elements) bind(C, name='glean_input_read')
      import
      type(c_ptr), value :: input, data
      type(c_id), value :: variable
      integer(c_int64_t), value :: step
      integer(c_int64_t), intent(in) :: start(*), count(*)
      integer(c_int), value :: memory
      integer(c_size_t), value :: elements
    end function
    integer(c_int) function c_input_attributes(input, variable, count) bind(C, name='glean_input_attributes')
      import
      type(c_ptr), value :: input
      type(c_id), value :: variable
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_input_describe_attribute(input, variable, index, description) &
        bind(C, name='glean_input_describe_attribute')
      import
      type(c_ptr), value :: input
      type(c_id), value :: variable
      integer(c_size_t), value :: index
      type(c_attribute_description), intent(inout) :: description
    end function
    integer(c_int) function c_input_attribute(input, name, memory, values, room, count) bind(C, name='glean_input_attribute')
      import
      type(c_ptr), value :: input, values
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: memory
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_input_variable_attribute(input, variable, name, memory, values, room, count) &
        bind(C, name='glean_input_variable_attribute')
      import
      type(c_ptr), value :: input, values
      type(c_id), value :: variable
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: memory
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout) :: count
    end function
    subroutine c_input_free(input) bind(C, name='glean_input_free')
      import
      type(c_ptr), value :: input
    end subroutine
  end interface
end module glean_c_calls
