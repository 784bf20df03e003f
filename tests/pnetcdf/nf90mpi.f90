! SPDX-License-Identifier: BSD-3-Clause
! PnetCDF's interface of Fortran 90.
program nf90mpi
  use mpi
  use pnetcdf
  implicit none
  integer :: err, rank, ncid, dims(2), records, v(3), request(1), status(1), i
  integer(kind=MPI_OFFSET_KIND) :: start(2), count(2)
  real(kind=8) :: d(8, 1)
  real(kind=8), allocatable :: wide(:, :), other(:)
  real(kind=4) :: r(8, 1)

  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  d = reshape([(i + 10d0 * rank, i = 1, 8)], [8, 1])
  r = reshape([(i + 20.0 * rank, i = 1, 8)], [8, 1])
  err = nf90mpi_create(MPI_COMM_WORLD, 'nf90mpi.nc', NF90_64BIT_DATA, MPI_INFO_NULL, ncid)
  err = nf90mpi_def_dim(ncid, 'x', 8_MPI_OFFSET_KIND, dims(1))
  err = nf90mpi_def_dim(ncid, 'y', 2_MPI_OFFSET_KIND, dims(2))
  err = nf90mpi_def_dim(ncid, 'time', nf90mpi_unlimited, records)
  err = nf90mpi_def_var(ncid, 'a', NF90_DOUBLE, dims, v(1))
  err = nf90mpi_def_var(ncid, 'b', NF90_FLOAT, dims, v(2))
  err = nf90mpi_def_var(ncid, 't', NF90_DOUBLE, [dims(1), records], v(3))
  err = nf90mpi_enddef(ncid)
  start = [1, rank + 1]
  count = [8, 1]
  err = nf90mpi_put_var_all(ncid, v(1), d, start, count)
  print *, rank, 'put_var_all', err
  err = nf90mpi_iput_var(ncid, v(2), r, request(1), start, count)
  err = nf90mpi_wait_all(ncid, 1, request, status)
  print *, rank, 'iput_var', err, request(1), status(1)
  ! A section is in memory of the compiler's, which is gone when it is waited for.
  allocate(wide(3, 8))
  wide = reshape([(i + 30d0 * rank, i = 1, 24)], [3, 8])
  err = nf90mpi_iput_var(ncid, v(1), wide(2, :), request(1), start, count)
  allocate(other(8))
  other = -1
  err = nf90mpi_wait_all(ncid, 1, request, status)
  print *, rank, 'section', err, request(1), status(1), maxval(other)
  err = nf90mpi_put_var_all(ncid, v(3), d, start, count)
  print *, rank, 'records', err
  err = nf90mpi_close(ncid)
  print *, rank, 'close', err
  call MPI_Finalize(err)
end program
