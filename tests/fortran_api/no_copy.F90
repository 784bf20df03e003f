! SPDX-License-Identifier: BSD-3-Clause
!
! A section with gaps, and the coordinates of points, go to the library as they lie in the program's memory: seen_put.c says which address
! and strides have come.
! Argument: a directory for the file.
program no_copy
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_c_binding, only: c_associated, c_int, c_loc, c_ptr, c_ptrdiff_t
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  interface
    type(c_ptr) function seen_first() bind(C)
      import :: c_ptr
    end function
    integer(c_ptrdiff_t) function seen_stride(dimension) bind(C)
      import :: c_int, c_ptrdiff_t
      integer(c_int), value :: dimension
    end function
  end interface
  type :: cell
    real(real64) :: density = 0, pressure = 0
  end type cell
  type(glean_session) :: session
  type(glean_output) :: out
  type(glean_dimension) :: x, y
  type(glean_variable) :: v, w, components
  type(glean_input) :: in
  real(real64), allocatable, target :: array(:, :)
  type(cell) :: cells(6, 4)
  real(real64) :: read_back(6, 4)
  integer(c_ptrdiff_t) :: slow, fast
  integer :: i
  character(len=1000) :: path

  call start_ranks()
  call get_command_argument(1, path)
  allocate (array(20, 30))
  array = reshape([(1d0 * i, i=1, 600)], [20, 30])
  call glean_session_open(MPI_COMM_WORLD, session)
  call glean_output_open(session, trim(path)//'/no_copy.nc', GLEAN_CDF5, out)
  call glean_output_define_dimension(out, 'x', 6, x)
  call glean_output_define_dimension(out, 'y', 4, y)
  call glean_output_define_variable(out, 'v', GLEAN_FLOAT64, [x, y], [1, 1], [6, 4], v)
  call glean_output_define_variable(out, 'w', GLEAN_FLOAT64, [x, y], [1, 1], [6, 4], w)
  call glean_output_define_variable(out, 'components', GLEAN_FLOAT64, [x, y], [1, 1], [6, 4], components)
  call glean_output_begin_step(out)
  call glean_output_put(out, v, array(3:13:2, 10:7:-1))
  call expect(lies_at(c_loc(array(3, 10))), 'the first element is that of the program')
  slow = seen_stride(0)
  fast = seen_stride(1)
  call expect(slow == -20 .and. fast == 2, 'the strides are those of the section, slowest first')
  call put_through(array(1:12:2, 1:4))
  cells%pressure = array(1:6, 1:4)
  call glean_output_put(out, components, cells%pressure)   ! of which gfortran makes a copy
  call glean_output_end_step(out)
  call glean_output_close(out)
  call glean_output_free(out)
  call glean_input_open(session, trim(path)//'/no_copy.nc', in)
  call glean_input_read(in, glean_variable(1), read_back)
  call expect(all(read_back == array(3:13:2, 10:7:-1)), 'the section is in the file')
  call glean_input_read(in, glean_variable(2), read_back)
  call expect(all(read_back == array(1:12:2, 1:4)), 'so is the dummy argument')
  call glean_input_read(in, glean_variable(3), read_back)
  call expect(all(read_back == array(1:6, 1:4)), 'so is the component')
  call glean_input_free(in)
  call points_lie_where_they_are()
  call glean_session_close(session, stat, errmsg)
  call ok('no call without stat has failed')
  call glean_session_free(session)
  call end_ranks()

contains

  subroutine points_lie_where_they_are()
    type(glean_grid) :: grid
    real(real64), allocatable, target :: wide(:, :), apart(:)
    allocate (wide(5, 6), apart(6))
    wide = reshape([(1d0 * i, i=1, 30)], [5, 6])
    apart = 0
    call glean_output_open(session, trim(path)//'/no_copy_mesh.nc', GLEAN_CDF5, out)
    call glean_output_define_unstructured_mesh(out, wide(2, :), wide(3, :), wide(4, :), [GLEAN_VERTEX], [1], grid, stat=stat, errmsg=errmsg)
    call ok('rows of one array')
    call expect(lies_at(c_loc(wide(2, 1))), 'the first point is that of the program')
    slow = seen_stride(0)
    fast = seen_stride(1)
    call expect(slow == 5 .and. fast == 1, 'the strides are those of the rows')
    call glean_output_free(out)
    call glean_output_open(session, trim(path)//'/no_copy_mesh.nc', GLEAN_CDF5, out)
    call glean_output_define_unstructured_mesh(out, array(1:6:2, 1), array(1:6:2, 2), array(1:6:2, 3), [GLEAN_VERTEX], [1], grid, &
        stat=stat, errmsg=errmsg)
    call ok('columns with gaps')
    call expect(lies_at(c_loc(array(1, 1))), 'the first point of the columns is that of the program')
    slow = seen_stride(0)
    fast = seen_stride(1)
    call expect(slow == 2 .and. fast == 20, 'the strides are those of the columns')
    call glean_output_free(out)
    ! Nothing leads from wide to apart and from there to wide again in equal steps.
    call glean_output_open(session, trim(path)//'/no_copy_mesh.nc', GLEAN_CDF5, out)
    call glean_output_define_unstructured_mesh(out, wide(1, :), apart, wide(2, :), [GLEAN_VERTEX], [1], grid, stat=stat, errmsg=errmsg)
    call ok('arrays of their own')
    call expect(.not. lies_at(c_loc(wide(1, 1))), 'coordinates that are not evenly spaced are brought together')
    call glean_output_free(out)
  end subroutine points_lie_where_they_are

  logical function lies_at(address)
    type(c_ptr), intent(in) :: address
    type(c_ptr) :: seen
    seen = seen_first()
    lies_at = c_associated(seen, address)
  end function lies_at

  ! As a program's own procedure gets it.
  subroutine put_through(values)
    real(real64), intent(in), target :: values(0:, 0:)
    call glean_output_put(out, w, values)
    call expect(lies_at(c_loc(array(1, 1))), 'an assumed-shape dummy argument is not copied')
  end subroutine put_through
end program no_copy
