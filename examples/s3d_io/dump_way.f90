! SPDX-License-Identifier: BSD-3-Clause
!
! What every way to write restart dumps has. All calls are collective.
module dump_way
  use fields, only: state
  implicit none
  private

  type, abstract, public :: way
    character(len=8) :: suffix = '.nc'
  contains
    procedure(starts), deferred :: start
    procedure(writes), deferred :: write
    procedure(ends), deferred :: complete   ! all dumps are in their files
    procedure(looks), deferred :: restart
    procedure(reads), deferred :: read
    procedure(ends), deferred :: finish
  end type way

  abstract interface
    subroutine starts(self, comm)
      import :: way
      class(way), intent(inout) :: self
      integer, intent(in) :: comm
    end subroutine
    ! `now` may be changed when the call returns. PnetCDF wants to be allowed to turn the bytes of its arrays round, and back.
    subroutine writes(self, path, now)
      import :: way, state
      class(way), intent(inout) :: self
      character(len=*), intent(in) :: path
      type(state), intent(inout) :: now
    end subroutine
    ! Finds the dump to go on from: its path, and the shape of the whole grid where the file says it. An empty path: there is none yet.
    subroutine looks(self, path, whole)
      import :: way
      class(way), intent(inout) :: self
      character(len=:), allocatable, intent(inout) :: path
      integer, intent(inout) :: whole(3)
    end subroutine
    ! The cells that now%grid says, with their step and time, which stay as they are where the file has none.
    subroutine reads(self, path, now)
      import :: way, state
      class(way), intent(inout) :: self
      character(len=*), intent(in) :: path
      type(state), intent(inout) :: now
    end subroutine
    subroutine ends(self)
      import :: way
      class(way), intent(inout) :: self
    end subroutine
  end interface
end module dump_way
