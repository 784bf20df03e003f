! SPDX-License-Identifier: BSD-3-Clause
!
! What the test programs of this folder say when something is not so.
module expecting
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  implicit none
  integer :: failures = 0, me = 0, ranks = 1
  integer :: stat = 0
  character(len=400) :: errmsg = ''

contains

  subroutine start_ranks()
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  end subroutine start_ranks

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write (error_unit, '(a,i0,2a)') 'rank ', me, ': not so: ', what
  end subroutine expect

  ! The last call, which was given `stat` and `errmsg` of this module, has succeeded.
  subroutine ok(what)
    character(len=*), intent(in) :: what
    if (stat /= 0) call expect(.false., what//': '//trim(errmsg))
    stat = -1
  end subroutine ok

  ! The last call has failed so, and its message says `part`.
  subroutine failed(status, part, what)
    integer, intent(in) :: status
    character(len=*), intent(in) :: part, what
    call expect(stat == status, what//' fails as it should')
    call expect(index(errmsg, part) > 0, what//' says "'//part//'": '//trim(errmsg))
    stat = -1
    errmsg = ''
  end subroutine failed

  ! Ends the program, with a status that says whether all was as expected on every rank.
  subroutine end_ranks()
    integer :: all
    call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (me == 0) write (output_unit, '(i0,a)') all, ' failures'
    call MPI_Finalize()
    if (all /= 0) stop 1
  end subroutine end_ranks

  logical function exists(path)
    character(len=*), intent(in) :: path
    inquire (file=path, exist=exists)
  end function exists
end module expecting
