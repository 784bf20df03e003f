! SPDX-License-Identifier: BSD-3-Clause
!
! Restart dumps through collective MPI-IO: the variables one after the other, and nothing that says what they are.
module dump_mpiio
  use mpi
  use dump_way, only: way
  use fields, only: state, decomposition, species, directions
  implicit none
  private

  type, extends(way), public :: way_mpiio
    integer :: comm = MPI_COMM_NULL
  contains
    procedure :: start
    procedure :: write
    procedure :: complete
    procedure :: restart
    procedure :: read
    procedure :: finish
  end type way_mpiio

contains

  subroutine start(self, comm)
    class(way_mpiio), intent(inout) :: self
    integer, intent(in) :: comm
    self%comm = comm
    self%suffix = '.raw'
  end subroutine start

  subroutine write(self, path, now)
    class(way_mpiio), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(state), intent(inout) :: now
    integer :: file, ierr
    integer(MPI_OFFSET_KIND) :: at
    call MPI_File_open(self%comm, path, ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, file, ierr)
    call check(ierr)
    at = 0
    call set_view(file, now%grid, species, at)
    call MPI_File_write_all(file, now%yspecies, size(now%yspecies), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call set_view(file, now%grid, 1, at)
    call MPI_File_write_all(file, now%temp, size(now%temp), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call set_view(file, now%grid, 1, at)
    call MPI_File_write_all(file, now%pressure, size(now%pressure), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call set_view(file, now%grid, directions, at)
    call MPI_File_write_all(file, now%u, size(now%u), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call MPI_File_close(file, ierr)
    call check(ierr)
  end subroutine write

  subroutine complete(self)
    class(way_mpiio), intent(inout) :: self
    if (self%comm == MPI_COMM_NULL) error stop 's3d_io: MPI-IO was not started'
  end subroutine complete

  ! The file does not say it: `whole` stays as it is.
  subroutine restart(self, path, whole)
    class(way_mpiio), intent(inout) :: self
    character(len=:), allocatable, intent(inout) :: path
    integer, intent(inout) :: whole(3)
    if (self%comm == MPI_COMM_NULL .or. any(whole < 1)) error stop 's3d_io: give --grid, which '//path//' does not say'
  end subroutine restart

  subroutine read(self, path, now)
    class(way_mpiio), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(state), intent(inout) :: now
    integer :: file, ierr
    integer(MPI_OFFSET_KIND) :: at
    call MPI_File_open(self%comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierr)
    call check(ierr)
    at = 0
    call set_view(file, now%grid, species, at)
    call MPI_File_read_all(file, now%yspecies, size(now%yspecies), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call set_view(file, now%grid, 1, at)
    call MPI_File_read_all(file, now%temp, size(now%temp), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call set_view(file, now%grid, 1, at)
    call MPI_File_read_all(file, now%pressure, size(now%pressure), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call set_view(file, now%grid, directions, at)
    call MPI_File_read_all(file, now%u, size(now%u), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
    call check(ierr)
    call MPI_File_close(file, ierr)
    call check(ierr)
  end subroutine read

  ! This rank's part of the variable that begins at `at`, which then is the end of it.
  subroutine set_view(file, grid, components, at)
    integer, intent(in) :: file, components
    type(decomposition), intent(in) :: grid
    integer(MPI_OFFSET_KIND), intent(inout) :: at
    integer :: part, ierr
    call MPI_Type_create_subarray(4, [grid%whole, components], [grid%count, components], [grid%start - 1, 0], MPI_ORDER_FORTRAN, &
        MPI_DOUBLE_PRECISION, part, ierr)
    call check(ierr)
    call MPI_Type_commit(part, ierr)
    call check(ierr)
    call MPI_File_set_view(file, at, MPI_DOUBLE_PRECISION, part, 'native', MPI_INFO_NULL, ierr)
    call check(ierr)
    call MPI_Type_free(part, ierr)
    call check(ierr)
    at = at + 8 * product(int(grid%whole, MPI_OFFSET_KIND)) * components
  end subroutine set_view

  subroutine finish(self)
    class(way_mpiio), intent(inout) :: self
    self%comm = MPI_COMM_NULL
  end subroutine finish

  subroutine check(ierr)
    integer, intent(in) :: ierr
    integer :: length, ignored
    character(len=MPI_MAX_ERROR_STRING) :: text
    if (ierr == MPI_SUCCESS) return
    call MPI_Error_string(ierr, text, length, ignored)
    error stop 's3d_io: '//text(:length)
  end subroutine check
end module dump_mpiio
