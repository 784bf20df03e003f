! SPDX-License-Identifier: BSD-3-Clause
!
! Unformatted and formatted records, a direct-access file, and what INQUIRE says of them, in a file for each rank.
program file_per_rank
  use mpi
  implicit none
  integer :: ierr, rank, ranks, unit, i, found
  character(len=64) :: name, what
  logical :: there
  double precision :: values(1000), read_back(1000)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, what)
  write (name, '(a,i0)') 'restart.', rank
  values = [(dble(i) * (rank + 1), i = 1, 1000)]
  if (what == 'write') then
    inquire (file=name, exist=there)
    if (there) call complain('is there already')
    open (newunit=unit, file=name, form='unformatted', status='new')
    write (unit) rank, values
    close (unit)
    open (newunit=unit, file=name, form='unformatted', status='old', position='append')
    write (unit) 2 * rank
    close (unit)
  end if
  inquire (file=name, exist=there)
  if (.not. there) call complain('is not there')
  open (newunit=unit, file=name, form='unformatted', status='old', action='read')
  read (unit) found, read_back
  if (found /= rank .or. any(read_back /= values)) call complain('has other values')
  read (unit) found
  if (found /= 2 * rank) call complain('has another second record')
  close (unit)
  if (what == 'remove') then
    open (newunit=unit, file=name, status='old')
    close (unit, status='delete')
    inquire (file=name, exist=there)
    if (there) call complain('is there still')
  end if
  call MPI_Finalize(ierr)
contains
  subroutine complain(text)
    character(len=*), intent(in) :: text
    print *, trim(name), ' ', text
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program
