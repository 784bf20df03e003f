! SPDX-License-Identifier: BSD-3-Clause
!
! Calls every function of MPI-IO, in a straight line: the test counts the calls in this text. Each rank writes integers that
! no other rank writes, reads them back, and looks at what every call returns. Compiled once for each way to reach MPI.
program calls
#if defined(F08_MODULE)
  use mpi_f08
#elif defined(F90_MODULE)
  use mpi
#endif
  implicit none
#if defined(F77_HEADER)
  include 'mpif.h'
#endif
#if defined(F08_MODULE)
#  define HANDLE(kind) type(kind)
#  define STATUS_OF(name) type(MPI_Status) :: name
#else
#  define HANDLE(kind) integer
#  define STATUS_OF(name) integer :: name(MPI_STATUS_SIZE)
#endif
  integer, parameter :: n = 8
  integer :: rank, ranks, ierr, mode, provided, failures, i
  logical :: atomic
  integer(kind=MPI_OFFSET_KIND) :: position, length, displacement, behind
  integer(kind=MPI_ADDRESS_KIND) :: extent, where_to(1)
  integer, asynchronous :: mine(n), got(n)
  integer :: lengths(1)
  character(len=64) :: name
  character(len=12) :: representation
  HANDLE(MPI_File) :: fh
  HANDLE(MPI_Datatype) :: strided, resized, element, view, absolute
  HANDLE(MPI_Request) :: request
  HANDLE(MPI_Group) :: group
  HANDLE(MPI_Info) :: info
  STATUS_OF(status)
  STATUS_OF(other)
  integer(kind=MPI_ADDRESS_KIND), parameter :: none = 0

  failures = 0
  call MPI_INIT_THREAD(MPI_THREAD_SINGLE, provided, ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, name)
  mine = [(1000 * rank + i, i = 1, n)]
  behind = 4096

  call MPI_FILE_OPEN(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
  call expect(ierr == MPI_SUCCESS, 'open')
  call MPI_FILE_PREALLOCATE(fh, behind, ierr)
  call MPI_FILE_SET_SIZE(fh, behind, ierr)
  call MPI_FILE_GET_SIZE(fh, length, ierr)
  call expect(length == behind, 'get_size')
  call MPI_FILE_GET_AMODE(fh, mode, ierr)
  call expect(mode == MPI_MODE_CREATE + MPI_MODE_RDWR, 'get_amode')
  call MPI_FILE_GET_GROUP(fh, group, ierr)
  call MPI_GROUP_SIZE(group, i, ierr)
  call expect(i == ranks, 'get_group')
  call MPI_GROUP_FREE(group, ierr)
  call MPI_FILE_GET_INFO(fh, info, ierr)
  call MPI_FILE_SET_INFO(fh, info, ierr)
  call expect(ierr == MPI_SUCCESS, 'set_info')
  call MPI_INFO_FREE(info, ierr)
  call MPI_FILE_GET_TYPE_EXTENT(fh, MPI_INTEGER, extent, ierr)
  call expect(extent == 4, 'get_type_extent')
  call MPI_FILE_SET_ATOMICITY(fh, .true., ierr)
  call MPI_FILE_GET_ATOMICITY(fh, atomic, ierr)
  call expect(ierr /= MPI_SUCCESS .or. atomic, 'atomicity')
  call MPI_FILE_SET_ATOMICITY(fh, .false., ierr)

  ! Every rank its own integers, in turn.
  call MPI_TYPE_CONTIGUOUS(1, MPI_INTEGER, strided, ierr)
  extent = 4 * ranks
  call MPI_TYPE_CREATE_RESIZED(strided, none, extent, resized, ierr)
  call MPI_TYPE_COMMIT(resized, ierr)
  displacement = 4 * rank
  call MPI_FILE_SET_VIEW(fh, displacement, MPI_INTEGER, resized, 'native  ', MPI_INFO_NULL, ierr)
  call expect(ierr == MPI_SUCCESS, 'set_view')
  call MPI_FILE_GET_VIEW(fh, position, element, view, representation, ierr)
  call expect(position == displacement .and. representation == 'native', 'get_view')
  call MPI_FILE_GET_BYTE_OFFSET(fh, 3_MPI_OFFSET_KIND, position, ierr)
  call expect(position == displacement + 12 * ranks, 'get_byte_offset')

  call MPI_FILE_WRITE(fh, mine, n, MPI_INTEGER, status, ierr)
  call expect_count(status, n, 'write')
  call MPI_FILE_GET_POSITION(fh, position, ierr)
  call expect(position == n, 'get_position')
  call MPI_FILE_WRITE_ALL(fh, mine, n, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_FILE_WRITE_AT(fh, 2_MPI_OFFSET_KIND * n, mine, n, MPI_INTEGER, status, ierr)
  call expect_count(status, n, 'write_at')
  call MPI_FILE_WRITE_AT_ALL(fh, 3_MPI_OFFSET_KIND * n, mine, n, MPI_INTEGER, status, ierr)
  call expect_count(status, n, 'write_at_all')
  call MPI_FILE_SEEK(fh, 4_MPI_OFFSET_KIND * n, MPI_SEEK_SET, ierr)
  call MPI_FILE_IWRITE(fh, mine, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call expect_count(status, n, 'iwrite')
  call MPI_FILE_IWRITE_ALL(fh, mine, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call MPI_FILE_IWRITE_AT(fh, 6_MPI_OFFSET_KIND * n, mine, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
  call MPI_FILE_IWRITE_AT_ALL(fh, 7_MPI_OFFSET_KIND * n, mine, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call MPI_FILE_WRITE_ALL_BEGIN(fh, mine, n, MPI_INTEGER, ierr)
  call MPI_FILE_WRITE_ALL_END(fh, mine, status, ierr)
  call expect_count(status, n, 'write_all_end')
  call MPI_FILE_WRITE_AT_ALL_BEGIN(fh, 9_MPI_OFFSET_KIND * n, mine, n, MPI_INTEGER, ierr)
  call MPI_FILE_WRITE_AT_ALL_END(fh, mine, status, ierr)
  call expect_count(status, n, 'write_at_all_end')
  call MPI_FILE_SYNC(fh, ierr)

  call MPI_FILE_READ_AT(fh, 2_MPI_OFFSET_KIND * n, got, n, MPI_INTEGER, status, ierr)
  call expect_same('read_at')
  call expect_count(status, n, 'read_at')
  call MPI_FILE_READ_AT_ALL(fh, 3_MPI_OFFSET_KIND * n, got, n, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call expect_same('read_at_all')
  call MPI_FILE_IREAD_AT(fh, 0_MPI_OFFSET_KIND, got, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, other, ierr)
  call expect_same('iread_at')
  call MPI_FILE_IREAD_AT_ALL(fh, 6_MPI_OFFSET_KIND * n, got, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, other, ierr)
  call expect_same('iread_at_all')
  call MPI_FILE_READ_AT_ALL_BEGIN(fh, 9_MPI_OFFSET_KIND * n, got, n, MPI_INTEGER, ierr)
  call MPI_FILE_READ_AT_ALL_END(fh, got, status, ierr)
  call expect_same('read_at_all_end')
  call MPI_FILE_SEEK(fh, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, ierr)
  call MPI_FILE_READ(fh, got, n, MPI_INTEGER, status, ierr)
  call expect_same('read')
  call MPI_FILE_READ_ALL(fh, got, n, MPI_INTEGER, status, ierr)
  call expect_same('read_all')
  call MPI_FILE_IREAD(fh, got, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call expect_same('iread')
  call MPI_FILE_IREAD_ALL(fh, got, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call expect_same('iread_all')
  call MPI_FILE_READ_ALL_BEGIN(fh, got, n, MPI_INTEGER, ierr)
  call MPI_FILE_READ_ALL_END(fh, got, status, ierr)
  call expect_same('read_all_end')

  ! From MPI_BOTTOM, behind all that was written so far.
  call MPI_GET_ADDRESS(mine, where_to(1), ierr)
  lengths(1) = n
  call MPI_TYPE_CREATE_HINDEXED(1, lengths, where_to, MPI_INTEGER, absolute, ierr)
  call MPI_TYPE_COMMIT(absolute, ierr)
  call MPI_FILE_SET_VIEW(fh, behind, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
  position = n * rank
  call MPI_FILE_WRITE_AT(fh, position, MPI_BOTTOM, 1, absolute, status, ierr)
  call expect(ierr == MPI_SUCCESS, 'write from MPI_BOTTOM')
  call MPI_FILE_SYNC(fh, ierr)
  call MPI_FILE_READ_AT(fh, position, got, n, MPI_INTEGER, status, ierr)
  call expect_same('MPI_BOTTOM')

  ! The shared pointer: in the order of the ranks where a call has one.
  position = n * ranks
  call MPI_FILE_SEEK_SHARED(fh, position, MPI_SEEK_SET, ierr)
  call MPI_FILE_WRITE_ORDERED(fh, mine, n, MPI_INTEGER, status, ierr)
  call expect_count(status, n, 'write_ordered')
  call MPI_FILE_WRITE_ORDERED_BEGIN(fh, mine, n, MPI_INTEGER, ierr)
  call MPI_FILE_WRITE_ORDERED_END(fh, mine, status, ierr)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  call MPI_FILE_GET_POSITION_SHARED(fh, position, ierr)
  call expect(position == 3 * n * ranks, 'get_position_shared')
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  got = 7   ! the same on all ranks, as any may come first
  call MPI_FILE_WRITE_SHARED(fh, got, n, MPI_INTEGER, status, ierr)
  call MPI_FILE_IWRITE_SHARED(fh, got, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  position = n * ranks
  call MPI_FILE_SEEK_SHARED(fh, position, MPI_SEEK_SET, ierr)
  call MPI_FILE_READ_ORDERED(fh, got, n, MPI_INTEGER, status, ierr)
  call expect_same('read_ordered')
  call MPI_FILE_READ_ORDERED_BEGIN(fh, got, n, MPI_INTEGER, ierr)
  call MPI_FILE_READ_ORDERED_END(fh, got, status, ierr)
  call expect_same('read_ordered_end')
  call MPI_FILE_READ_SHARED(fh, got, n, MPI_INTEGER, status, ierr)
  call expect_count(status, n, 'read_shared')
  call MPI_FILE_IREAD_SHARED(fh, got, n, MPI_INTEGER, request, ierr)
  call MPI_WAIT(request, status, ierr)
  call expect_count(status, n, 'iread_shared')
  call MPI_FILE_CLOSE(fh, ierr)
  call expect(fh == MPI_FILE_NULL, 'close')

  ! An error comes back. (Of MPI_FILE_OPEN it would end MPICH 4.0, which looks at the handle then.)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  call MPI_FILE_DELETE('/there/is/no/such/file', MPI_INFO_NULL, ierr)
  call expect(ierr /= MPI_SUCCESS, 'error')
  call MPI_FILE_OPEN(MPI_COMM_SELF, trim(name) // achar(48 + rank), MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, fh, ierr)
  call MPI_FILE_CLOSE(fh, ierr)
  call MPI_FILE_DELETE(trim(name) // achar(48 + rank) // '  ', MPI_INFO_NULL, ierr)
  call expect(ierr == MPI_SUCCESS, 'delete')
  if (failures == 0 .and. rank == 0) print '(a)', 'all is well'
  call MPI_FINALIZE(ierr)
  if (failures > 0) stop 1

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(a,i0,2a)', 'rank ', rank, ' failed: ', what
  end subroutine expect

  subroutine expect_same(what)
    character(len=*), intent(in) :: what
    call expect(all(got == mine), what)
    got = 0
  end subroutine expect_same

  subroutine expect_count(of, count, what)
    STATUS_OF(of)
    integer, intent(in) :: count
    character(len=*), intent(in) :: what
    integer :: there
    call MPI_GET_COUNT(of, MPI_INTEGER, there, ierr)
    call expect(there == count, what // ' (count)')
  end subroutine expect_count
end program calls
