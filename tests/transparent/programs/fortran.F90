! SPDX-License-Identifier: BSD-3-Clause
! The calls of MPI-IO from Fortran. Compiled three times: BINDING is 1 for mpif.h, 2 for use mpi, 3 for use mpi_f08.
#if BINDING == 3
#define FILE_TYPE type(MPI_File)
#define STATUS_TYPE type(MPI_Status)
#define REQUEST_TYPE type(MPI_Request)
#define DATATYPE_TYPE type(MPI_Datatype)
#define INFO_TYPE type(MPI_Info)
#define GROUP_TYPE type(MPI_Group)
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#elif BINDING == 2
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
#if BINDING < 3
#define FILE_TYPE integer
#define STATUS_TYPE integer, dimension(MPI_STATUS_SIZE)
#define REQUEST_TYPE integer
#define DATATYPE_TYPE integer
#define INFO_TYPE integer
#define GROUP_TYPE integer
#endif

program fortran
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: count = 100, bytes = 4 * count
  integer, parameter :: offset_kind = MPI_OFFSET_KIND
  character(len=900) :: directory
  character(len=80) :: lines(200)
  integer :: rank, ranks, error, said = 0, i
  STATUS_TYPE :: status
  integer :: numbers(count), back(count)

  call get_command_argument(1, directory)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call explicit_offsets()
  call individual_pointers()
  call shared_pointers()
  call split_collective()
  call views()
  call queries()
  call sizes_and_errors()
  do i = 1, said
    call print_in_order(lines(i))
  end do
  call MPI_Finalize(error)

contains

  subroutine say(what, value)
    character(len=*), intent(in) :: what
    integer(offset_kind), intent(in) :: value
    said = said + 1
    write (lines(said), '(a, a, i0)') what, ' ', value
  end subroutine

  ! The line of each rank, in their order. All ranks have said as many.
  subroutine print_in_order(line)
    character(len=80), intent(in) :: line
    character(len=80) :: other
    integer :: from
    if (rank /= 0) then
      call MPI_Send(line, 80, MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, error)
      return
    end if
    print '(a, a)', '[0] ', trim(line)
    do from = 1, ranks - 1
      call MPI_Recv(other, 80, MPI_CHARACTER, from, 0, MPI_COMM_WORLD, status, error)
      print '(a, i0, a, a)', '[', from, '] ', trim(other)
    end do
  end subroutine

  subroutine checked(what)
    character(len=*), intent(in) :: what
    integer :: class
    if (error == MPI_SUCCESS) return
    call MPI_Error_class(error, class, error)
    call say(what // ': error class', int(class, offset_kind))
  end subroutine

  subroutine fill(tag)
    integer, intent(in) :: tag
    integer :: j
    numbers = [(10000 * rank + 100 * tag + j, j = 1, count)]
  end subroutine

  subroutine say_back(what)
    character(len=*), intent(in) :: what
    integer :: j, n
    call say(what, sum([(int(back(j), offset_kind) * j, j = 1, count)]))
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    call say(what // ', count', int(n, offset_kind))
  end subroutine

  subroutine open_new(name, file)
    character(len=*), intent(in) :: name
    FILE_TYPE, intent(out) :: file
    call MPI_File_open(MPI_COMM_WORLD, trim(directory) // '/' // name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
    call checked('open')
  end subroutine

  subroutine sync_all(file)
    FILE_TYPE, intent(in) :: file
    call MPI_File_sync(file, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_sync(file, error)
  end subroutine

  integer(offset_kind) function at(part)
    integer, intent(in) :: part
    at = int(bytes, offset_kind) * (part * ranks + rank)
  end function

  subroutine explicit_offsets()
    FILE_TYPE :: file
    REQUEST_TYPE :: request
    call open_new('offsets', file)
    call fill(0)
    call MPI_File_write_at(file, at(0), numbers, count, MPI_INTEGER, status, error)
    call checked('write_at')
    call fill(1)
    call MPI_File_write_at_all(file, at(1), numbers, count, MPI_INTEGER, status, error)
    call checked('write_at_all')
    call fill(2)
    call MPI_File_iwrite_at(file, at(2), numbers, count, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call sync_all(file)
    call MPI_File_read_at(file, at(0), back, count, MPI_INTEGER, status, error)
    call say_back('read_at')
    call MPI_File_read_at_all(file, at(1), back, count, MPI_INTEGER, status, error)
    call say_back('read_at_all')
    call MPI_File_iread_at(file, at(2), back, count, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call say_back('iread_at')
    call MPI_File_close(file, error)
  end subroutine

  subroutine individual_pointers()
    FILE_TYPE :: file
    REQUEST_TYPE :: request
    integer(offset_kind) :: position
    call open_new('individual', file)
    call MPI_File_seek(file, 3 * at(0), MPI_SEEK_SET, error)
    call fill(0)
    call MPI_File_write(file, numbers, count, MPI_INTEGER, status, error)
    call checked('write')
    call fill(1)
    call MPI_File_write_all(file, numbers, count, MPI_INTEGER, status, error)
    call checked('write_all')
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call fill(2)
    call MPI_File_iwrite(file, numbers, count, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_File_get_position(file, position, error)
    call say('position', position)
    call sync_all(file)
    call MPI_File_seek(file, 3 * at(0), MPI_SEEK_SET, error)
    call MPI_File_read(file, back, count, MPI_INTEGER, status, error)
    call say_back('read')
    call MPI_File_read_all(file, back, count, MPI_INTEGER, status, error)
    call say_back('read_all')
    call MPI_File_iread(file, back, count, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call say_back('iread')
    call MPI_File_close(file, error)
  end subroutine

  subroutine shared_pointers()
    FILE_TYPE :: file
    REQUEST_TYPE :: request
    integer(offset_kind) :: position
    call open_new('shared', file)
    call fill(0)
    call MPI_File_write_ordered(file, numbers, count, MPI_INTEGER, status, error)
    call checked('write_ordered')
    call fill(1)
    call MPI_File_write_ordered_begin(file, numbers, count, MPI_INTEGER, error)
    call MPI_File_write_ordered_end(file, numbers, status, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 1) then
      call MPI_File_write_shared(file, numbers, count, MPI_INTEGER, status, error)
      call MPI_File_iwrite_shared(file, numbers, count, MPI_INTEGER, request, error)
      call MPI_Wait(request, status, error)
    end if
    call sync_all(file)
    call MPI_File_get_position_shared(file, position, error)
    call say('shared position', position)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_seek_shared(file, 0_offset_kind, MPI_SEEK_SET, error)
    call MPI_File_read_ordered(file, back, count, MPI_INTEGER, status, error)
    call say_back('read_ordered')
    call MPI_File_read_ordered_begin(file, back, count, MPI_INTEGER, error)
    call MPI_File_read_ordered_end(file, back, status, error)
    call say_back('read_ordered_begin')
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 0) call MPI_File_read_shared(file, back, count, MPI_INTEGER, status, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 2) then
      call MPI_File_iread_shared(file, back, count, MPI_INTEGER, request, error)
      call MPI_Wait(request, status, error)
    end if
    call say_back('read_shared')
    call MPI_File_close(file, error)
  end subroutine

  subroutine split_collective()
    FILE_TYPE :: file
    call open_new('split', file)
    call fill(0)
    call MPI_File_write_at_all_begin(file, at(0), numbers, count, MPI_INTEGER, error)
    call MPI_File_write_at_all_end(file, numbers, status, error)
    call MPI_File_seek(file, at(1), MPI_SEEK_SET, error)
    call fill(1)
    call MPI_File_write_all_begin(file, numbers, count, MPI_INTEGER, error)
    call MPI_File_write_all_end(file, numbers, status, error)
    call sync_all(file)
    call MPI_File_read_at_all_begin(file, at(1), back, count, MPI_INTEGER, error)
    call MPI_File_read_at_all_end(file, back, status, error)
    call say_back('read_at_all_begin')
    call MPI_File_seek(file, at(0), MPI_SEEK_SET, error)
    call MPI_File_read_all_begin(file, back, count, MPI_INTEGER, error)
    call MPI_File_read_all_end(file, back, status, error)
    call say_back('read_all_begin')
    call MPI_File_close(file, error)
  end subroutine

  ! Columns of an array, as Fortran stores them, and single precision that is not converted.
  subroutine views()
    FILE_TYPE :: file
    DATATYPE_TYPE :: rows
    integer(offset_kind) :: place
    integer :: j
    double precision :: values(10, 5)
    values = reshape([(rank + j / 100d0, j = 1, 50)], [10, 5])
    call open_new('views', file)
    call MPI_Type_create_subarray(2, [10 * ranks, 5], [10, 5], [10 * rank, 0], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, rows, error)
    call MPI_Type_commit(rows, error)
    call MPI_File_set_view(file, 16_offset_kind, MPI_DOUBLE_PRECISION, rows, 'native', MPI_INFO_NULL, error)
    call checked('set_view')
    call MPI_File_write_all(file, values, 50, MPI_DOUBLE_PRECISION, status, error)
    call MPI_File_get_byte_offset(file, 37_offset_kind, place, error)
    call say('byte offset', place)
    call sync_all(file)
    values = 0
    call MPI_File_read_at_all(file, 10_offset_kind, values, 40, MPI_DOUBLE_PRECISION, status, error)
    call say('read through the view', nint(1000 * sum(values), offset_kind))
    call MPI_File_close(file, error)
    call MPI_Type_free(rows, error)
  end subroutine

  subroutine queries()
    FILE_TYPE :: file
    DATATYPE_TYPE :: etype, filetype
    INFO_TYPE :: info
    GROUP_TYPE :: group
    integer :: amode, members
    integer(offset_kind) :: size, displacement
    integer(MPI_ADDRESS_KIND) :: extent
    logical :: atomic
    character(len=MPI_MAX_DATAREP_STRING) :: representation
    call open_new('queries', file)
    call MPI_File_get_amode(file, amode, error)
    call say('amode', int(amode, offset_kind))
    call MPI_File_get_group(file, group, error)
    call MPI_Group_size(group, members, error)
    call MPI_Group_free(group, error)
    call say('ranks', int(members, offset_kind))
    call MPI_File_get_info(file, info, error)
    call MPI_File_set_info(file, info, error)
    call MPI_Info_free(info, error)
    call MPI_File_get_view(file, displacement, etype, filetype, representation, error)
    call say('representation ' // trim(representation), displacement)
    call MPI_File_get_type_extent(file, MPI_DOUBLE_PRECISION, extent, error)
    call say('extent', int(extent, offset_kind))
    call MPI_File_set_atomicity(file, .true., error)
    call MPI_File_get_atomicity(file, atomic, error)
    call say('atomic', merge(1_offset_kind, 0_offset_kind, atomic))
    call fill(3)
    call MPI_File_write_at_all(file, at(0), numbers, count, MPI_INTEGER, status, error)
    call sync_all(file)
    call MPI_File_get_size(file, size, error)
    call say('size', size)
    call MPI_File_close(file, error)
  end subroutine

  subroutine sizes_and_errors()
    FILE_TYPE :: file
    integer(offset_kind) :: size
    call open_new('sizes', file)
    call MPI_File_set_size(file, 5000_offset_kind, error)
    call MPI_File_preallocate(file, 9000_offset_kind, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_get_size(file, size, error)
    call say('size', size)
    call MPI_File_close(file, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 0) call MPI_File_delete(trim(directory) // '/queries', MPI_INFO_NULL, error)
    call MPI_File_delete(trim(directory) // '/missing', MPI_INFO_NULL, error)   ! to open it hangs, with ompio
    call checked('delete of a file that is not there')
  end subroutine
end program
