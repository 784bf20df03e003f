! SPDX-License-Identifier: BSD-3-Clause
!
! Restart dumps through PnetCDF, with blocking calls or with nonblocking ones that are completed together.
module dump_pnetcdf
  use mpi
  use dump_way, only: way
  use fields, only: state, species, directions
  use pnetcdf
  implicit none
  private

  type, extends(way), public :: way_pnetcdf
    logical :: blocking = .true.
    integer :: comm = MPI_COMM_NULL
  contains
    procedure :: start
    procedure :: write
    procedure :: complete
    procedure :: restart
    procedure :: read
    procedure :: finish
  end type way_pnetcdf

contains

  subroutine start(self, comm)
    class(way_pnetcdf), intent(inout) :: self
    integer, intent(in) :: comm
    self%comm = comm
  end subroutine start

  subroutine write(self, path, now)
    class(way_pnetcdf), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(state), intent(inout) :: now
    integer :: file, x, y, z, ys, us, yspecies, temp, pressure, u, requests(4), statuses(4)
    integer(MPI_OFFSET_KIND) :: start(4), count(4)

    call check(nf90mpi_create(self%comm, path, ior(NF90_CLOBBER, NF90_64BIT_DATA), MPI_INFO_NULL, file))
    call check(nf90mpi_def_dim(file, 'x', int(now%grid%whole(1), MPI_OFFSET_KIND), x))
    call check(nf90mpi_def_dim(file, 'y', int(now%grid%whole(2), MPI_OFFSET_KIND), y))
    call check(nf90mpi_def_dim(file, 'z', int(now%grid%whole(3), MPI_OFFSET_KIND), z))
    call check(nf90mpi_def_dim(file, 'species', int(species, MPI_OFFSET_KIND), ys))
    call check(nf90mpi_def_dim(file, 'directions', int(directions, MPI_OFFSET_KIND), us))
    call check(nf90mpi_def_var(file, 'yspecies', NF90_DOUBLE, [x, y, z, ys], yspecies))
    call check(nf90mpi_def_var(file, 'temp', NF90_DOUBLE, [x, y, z], temp))
    call check(nf90mpi_def_var(file, 'pressure', NF90_DOUBLE, [x, y, z], pressure))
    call check(nf90mpi_def_var(file, 'u', NF90_DOUBLE, [x, y, z, us], u))
    call check(nf90mpi_put_att(file, NF90_GLOBAL, 'step', now%step))
    call check(nf90mpi_put_att(file, NF90_GLOBAL, 'time', now%time))
    call check(nf90mpi_enddef(file))

    start = [now%grid%start, 1]
    count = [now%grid%count, species]
    if (self%blocking) then
      call check(nf90mpi_put_var_all(file, yspecies, now%yspecies, start, count))
      call check(nf90mpi_put_var_all(file, temp, now%temp, start(:3), count(:3)))
      call check(nf90mpi_put_var_all(file, pressure, now%pressure, start(:3), count(:3)))
      count(4) = directions
      call check(nf90mpi_put_var_all(file, u, now%u, start, count))
    else
      call check(nf90mpi_iput_var(file, yspecies, now%yspecies, requests(1), start, count))
      call check(nf90mpi_iput_var(file, temp, now%temp, requests(2), start(:3), count(:3)))
      call check(nf90mpi_iput_var(file, pressure, now%pressure, requests(3), start(:3), count(:3)))
      count(4) = directions
      call check(nf90mpi_iput_var(file, u, now%u, requests(4), start, count))
      call check(nf90mpi_wait_all(file, 4, requests, statuses))
      call check(maxval(abs(statuses)))
    end if
    call check(nf90mpi_close(file))
  end subroutine write

  subroutine complete(self)
    class(way_pnetcdf), intent(inout) :: self
    if (self%comm == MPI_COMM_NULL) error stop 's3d_io: PnetCDF was not started'
  end subroutine complete

  subroutine restart(self, path, whole)
    class(way_pnetcdf), intent(inout) :: self
    character(len=:), allocatable, intent(inout) :: path
    integer, intent(inout) :: whole(3)
    integer :: file, dimension, d
    integer(MPI_OFFSET_KIND) :: length
    character(len=1), parameter :: names(3) = ['x', 'y', 'z']
    call check(nf90mpi_open(self%comm, path, NF90_NOWRITE, MPI_INFO_NULL, file))
    do d = 1, 3
      call check(nf90mpi_inq_dimid(file, names(d), dimension))
      call check(nf90mpi_inquire_dimension(file, dimension, len=length))
      whole(d) = int(length)
    end do
    call check(nf90mpi_close(file))
  end subroutine restart

  subroutine read(self, path, now)
    class(way_pnetcdf), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(state), intent(inout) :: now
    integer :: file, variable
    integer(MPI_OFFSET_KIND) :: start(4), count(4)
    start = [now%grid%start, 1]
    count = [now%grid%count, species]
    call check(nf90mpi_open(self%comm, path, NF90_NOWRITE, MPI_INFO_NULL, file))
    call check(nf90mpi_get_att(file, NF90_GLOBAL, 'step', now%step))
    call check(nf90mpi_get_att(file, NF90_GLOBAL, 'time', now%time))
    call check(nf90mpi_inq_varid(file, 'yspecies', variable))
    call check(nf90mpi_get_var_all(file, variable, now%yspecies, start, count))
    call check(nf90mpi_inq_varid(file, 'temp', variable))
    call check(nf90mpi_get_var_all(file, variable, now%temp, start(:3), count(:3)))
    call check(nf90mpi_inq_varid(file, 'pressure', variable))
    call check(nf90mpi_get_var_all(file, variable, now%pressure, start(:3), count(:3)))
    count(4) = directions
    call check(nf90mpi_inq_varid(file, 'u', variable))
    call check(nf90mpi_get_var_all(file, variable, now%u, start, count))
    call check(nf90mpi_close(file))
  end subroutine read

  subroutine finish(self)
    class(way_pnetcdf), intent(inout) :: self
    self%comm = MPI_COMM_NULL
  end subroutine finish

  subroutine check(status)
    integer, intent(in) :: status
    if (status /= NF90_NOERR) error stop 's3d_io: '//trim(nf90mpi_strerror(status))
  end subroutine check
end module dump_pnetcdf
