! SPDX-License-Identifier: BSD-3-Clause
!
! Reading files, of this session or others; what is read into, see reads.F90.
module glean_inputs
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_int, c_int64_t, c_ptr, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use glean_values
  use glean_handles
  use glean_questions
  use glean_c_calls
  implicit none
  private
  public :: glean_session_restart, glean_input_path
  public :: glean_input_open, glean_input_message, glean_input_steps, glean_input_variables, glean_input_describe
  public :: glean_input_find_variable, glean_input_attributes, glean_input_describe_attribute, glean_input_free

contains

  ! Opens a file for reading on this rank, as it is now. `seconds`: to wait at most for an output of this session. Local. Blocks.
  subroutine glean_input_open(session, path, input, reading, seconds, stat, errmsg)
    type(glean_session), intent(in) :: session
    character(len=*), intent(in) :: path
    type(glean_input), intent(inout) :: input
    integer, intent(in), optional :: reading
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_input_options) :: options
    type(handle_state), pointer :: state
    integer(c_int) :: status

    if (.not. associated(session%inside)) then
      call finish(session%inside, 'glean_input_open', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    options%size = c_sizeof(options)
    if (present(reading)) options%reading = int(reading, c_int)
    if (present(seconds)) options%seconds = seconds
    state => new_state(OF_INPUT, session%inside)
    status = c_input_open(session%inside%handle, c_text(path), options, state%handle)
    input%inside => state
    call finish_opening(state, 'glean_input_open', status, stat, errmsg)
  end subroutine glean_input_open

  ! Opens the newest complete file whose path matches a shell pattern, such as 'run/chk_*.nc', the same on all ranks. Outputs of this
  ! session that are closed and match are waited for, for `seconds` or the deadline. GLEAN_NOT_FOUND if no file matches: the program starts
  ! from scratch. GLEAN_IO if some match and none is complete. Collective. Blocks.
  subroutine glean_session_restart(session, pattern, input, seconds, stat, errmsg)
    type(glean_session), intent(in) :: session
    character(len=*), intent(in) :: pattern
    type(glean_input), intent(inout) :: input
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(handle_state), pointer :: state
    integer(c_int) :: status
    real(c_double) :: to_wait

    if (.not. associated(session%inside)) then
      call finish(session%inside, 'glean_session_restart', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    to_wait = -1
    if (present(seconds)) to_wait = seconds
    state => new_state(OF_INPUT, session%inside)
    status = c_session_restart(session%inside%handle, c_text(pattern), to_wait, state%handle)
    input%inside => state
    call finish_opening(state, 'glean_session_restart', status, stat, errmsg)
  end subroutine glean_session_restart

  ! The path as it was opened: what glean_input_open was given, or glean_session_restart has found. Local.
  function glean_input_path(input) result(path)
    type(glean_input), intent(in) :: input
    character(len=:), allocatable :: path
    path = text_of(c_input_path(handle_of(input%inside)))
  end function glean_input_path

  ! What the last failed call with this input said; '' when there was none. Local.
  function glean_input_message(input) result(message)
    type(glean_input), intent(in) :: input
    character(len=:), allocatable :: message
    message = message_of(input%inside)
  end function glean_input_message

  ! Records that the file holds. Local.
  subroutine glean_input_steps(input, steps, stat, errmsg)
    type(glean_input), intent(in) :: input
    integer, intent(inout) :: steps
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: seen
    integer(c_int) :: status
    seen = 0
    status = c_input_steps(handle_of(input%inside), seen)
    if (status == GLEAN_OK) steps = int(seen)
    call finish(input%inside, 'glean_input_steps', status, stat, errmsg)
  end subroutine glean_input_steps

  ! Number of variables, which are glean_variable(1), glean_variable(2), ... Local.
  subroutine glean_input_variables(input, count, stat, errmsg)
    type(glean_input), intent(in) :: input
    integer, intent(inout) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(input%inside, c_input_variables, 'glean_input_variables', count, stat, errmsg)
  end subroutine glean_input_variables

  ! Local.
  subroutine glean_input_describe(input, variable, description, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    type(glean_variable_description), intent(inout) :: description
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_variable_description) :: seen
    integer(c_int64_t), pointer :: shape_c(:)
    type(c_ptr), pointer :: names_c(:)
    integer(c_int) :: status
    integer :: i
    seen%size = c_sizeof(seen)
    status = c_input_describe(handle_of(input%inside), c_id(variable%id - 1), seen)
    if (status == GLEAN_OK) then
      description%name = text_of(seen%name)
      description%external = seen%external
      description%per_step = seen%per_step /= 0
      if (allocated(description%shape)) deallocate (description%shape)
      allocate (description%shape(seen%dimensions))
      if (seen%dimensions > 0) then
        call c_f_pointer(seen%shape, shape_c, [seen%dimensions])
        description%shape = shape_c(size(shape_c):1:-1)
      end if
      if (allocated(description%dimension_names)) deallocate (description%dimension_names)
      allocate (description%dimension_names(seen%names))
      if (seen%names > 0) call c_f_pointer(seen%dimension_names, names_c, [seen%names])
      do i = 1, size(description%dimension_names)
        description%dimension_names(i) = text_of(names_c(size(names_c) + 1 - i))
      end do
    end if
    call finish(input%inside, 'glean_input_describe', status, stat, errmsg)
  end subroutine glean_input_describe

  ! Local.
  subroutine glean_input_find_variable(input, name, variable, stat, errmsg)
    type(glean_input), intent(in) :: input
    character(len=*), intent(in) :: name
    type(glean_variable), intent(inout) :: variable
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_id) :: found
    integer(c_int) :: status
    status = c_input_find_variable(handle_of(input%inside), c_text(name), found)
    if (status == GLEAN_OK) variable%id = found%id + 1
    call finish(input%inside, 'glean_input_find_variable', status, stat, errmsg)
  end subroutine glean_input_find_variable

  ! Number of attributes of a variable, or with glean_variable() of the file. Local.
  subroutine glean_input_attributes(input, variable, count, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    integer, intent(inout) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_size_t) :: seen
    integer(c_int) :: status
    seen = 0
    status = c_input_attributes(handle_of(input%inside), c_id(variable%id - 1), seen)
    if (status == GLEAN_OK) count = int(seen)
    call finish(input%inside, 'glean_input_attributes', status, stat, errmsg)
  end subroutine glean_input_attributes

  ! Attribute number `index` of them, from 1, in the order of the file. Local.
  subroutine glean_input_describe_attribute(input, variable, index, description, stat, errmsg)
    type(glean_input), intent(in) :: input
    type(glean_variable), intent(in) :: variable
    integer, intent(in) :: index
    type(glean_attribute_description), intent(inout) :: description
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_attribute_description) :: seen
    integer(c_int) :: status
    if (index < 1) then
      call finish(input%inside, 'glean_input_describe_attribute', GLEAN_INVALID_ARGUMENT, stat, errmsg, 'attributes count from 1')
      return
    end if
    seen%size = c_sizeof(seen)
    status = c_input_describe_attribute(handle_of(input%inside), c_id(variable%id - 1), int(index - 1, c_size_t), seen)
    if (status == GLEAN_OK) then
      description%name = text_of(seen%name)
      description%external = seen%external
      description%elements = seen%elements
    end if
    call finish(input%inside, 'glean_input_describe_attribute', status, stat, errmsg)
  end subroutine glean_input_describe_attribute

  ! Closes the file and gives the handle back. Local.
  subroutine glean_input_free(input)
    type(glean_input), intent(inout) :: input
    call c_input_free(handle_of(input%inside))
    call forget_state(input%inside)
  end subroutine glean_input_free
end module glean_inputs
