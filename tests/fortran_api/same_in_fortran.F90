! SPDX-License-Identifier: BSD-3-Clause
!
! Writes what same_in_c.c writes; reaches MPI by the module mpi, whose communicators are integers. Arguments: a file, and its format.
program same_in_fortran
  use mpi
  use glean
  use, intrinsic :: iso_fortran_env, only: int16, int64, real64
  implicit none
  integer, parameter :: nx = 5, ny = 4, nz = 3
  type(glean_session) :: session
  type(glean_output) :: out
  type(glean_dimension) :: x, y, time, letters
  type(glean_grid) :: grid
  type(glean_variable) :: field, dens, flag, name, scalar
  real(real64) :: values(nx, ny, nz), wide(2, nx + 2, ny)
  character(len=1000) :: path
  character(len=4) :: text
  integer :: ierr, rank, ranks, format, step, i, j, k, stat
  character(len=300) :: errmsg

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(2, text)
  read (text, *) format
  call get_command_argument(1, path)

  call glean_session_open(MPI_COMM_WORLD, session)
  call glean_output_open(session, path, format, out)
  call glean_output_define_dimension(out, 'nx', nx, x)
  call glean_output_define_dimension(out, 'ny', int(ny * ranks, int64), y)
  call glean_output_define_dimension(out, 'letters', 4, letters)
  call glean_output_define_unlimited(out, 'time', time)
  call glean_output_define_variable(out, 'field', GLEAN_FLOAT32, [x, y, time], [1, ny * rank + 1], [nx, ny], field)
  call glean_output_define_variable(out, 'flag', GLEAN_INT16, [y, time], [ny * rank + 1], [ny], flag, GLEAN_FILL_ON)
  call glean_output_define_variable(out, 'name', GLEAN_TEXT, [letters, y], [1, ny * rank + 1], [4, 1], name, GLEAN_FILL_ON)
  if (rank == 0) then
    call glean_output_define_variable(out, 'scalar', GLEAN_FLOAT64, [glean_dimension ::], [integer ::], [integer ::], scalar)
  else
    call glean_output_define_variable(out, 'scalar', GLEAN_FLOAT64, [glean_dimension ::], scalar)
  end if
  call glean_output_define_uniform_grid(out, [nx, ny, nz * ranks], [0d0, 1d0, 2d0], [0.5d0, 0.25d0, 0.125d0], grid, &
      [1, 1, nz * rank + 1], [nx, ny, nz], ['gx', 'gy', 'gz'])
  call glean_output_define_grid_variable(out, 'dens', GLEAN_FLOAT64, grid, dens)
  call glean_output_define_attribute(out, 'title', 'the same in both')
  call glean_output_define_attribute(out, 'sizes', [nx, ny, nz])
  call glean_output_define_variable_attribute(out, flag, '_FillValue', -7_int16)
  call glean_output_define_variable_attribute(out, dens, 'units', 'g/cm3')
  call glean_output_define_variable_attribute(out, dens, 'range', [0.5d0, 2.5d0])

  do step = 1, 3
    call glean_output_begin_step(out)
    do j = 1, ny
      do i = 1, nx + 2
        wide(:, i, j) = [0d0, 1000d0 * step + 100 * (ny * rank + j) + i]
      end do
    end do
    call glean_output_put(out, field, wide(2, 2:nx + 1, :))
    call glean_output_put_box(out, flag, [step, rank], [ny * rank + 2])
    if (step == 1) then
      do k = 1, nz
        do j = 1, ny
          do i = 1, nx
            values(i, j, k) = i + 10 * j + 100 * (nz * rank + k)
          end do
        end do
      end do
      call glean_output_put(out, dens, values)
      write (text, '(a1,i3.3)') 'r', rank
      call glean_output_put(out, name, text)
      if (rank == 0) call glean_output_put(out, scalar, 2.5d0)
    end if
    call glean_output_end_step(out)
  end do
  call glean_output_close(out)
  call glean_output_free(out)
  call glean_session_close(session, stat, errmsg)
  call glean_session_free(session)
  call MPI_Finalize(ierr)
  if (stat /= GLEAN_OK) then
    print '(a)', trim(errmsg)
    stop 1
  end if
end program same_in_fortran
