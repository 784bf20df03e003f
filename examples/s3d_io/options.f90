! SPDX-License-Identifier: BSD-3-Clause
!
! The command line.
module options
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  implicit none
  private
  public :: choices, read_command_line

  type :: choices
    character(len=32) :: output = 'glean'
    character(len=1000) :: directory = '.', restart = ''
    integer :: dumps = 5, steps = 20
    integer :: block(3) = [22, 36, 22]   ! cells of a rank, as in production runs of S3D
    integer :: grid(3) = 0               ! of the whole domain; 0: block times ranks
    logical :: keep_going = .true.
  end type choices

  character(len=*), parameter :: usage = &
      'usage: s3d_io [--output pnetcdf|pnetcdf-nonblocking|mpiio|glean|none] [--directory DIR] [--dumps N]'//new_line('a')// &
      '              [--steps N]          time steps that are computed before each dump'//new_line('a')// &
      '              [--block NX,NY,NZ]   cells of each rank (22,36,22)'//new_line('a')// &
      '              [--grid NX,NY,NZ]    cells of the whole domain instead'//new_line('a')// &
      '              [--restart FILE]     goes on from a dump, of any number of ranks; glean: from the newest complete'//new_line('a')// &
      '                                   one that a pattern means, and from step 0 where there is none'

contains

  ! Every rank reads the same words. `speaks`: whether this one says what is wrong with them.
  function read_command_line(speaks) result(chosen)
    logical, intent(in) :: speaks
    type(choices) :: chosen
    character(len=1000) :: word, value
    integer :: i, status
    logical :: is_there
    i = 1
    do while (i <= command_argument_count())
      call get_command_argument(i, word)
      call get_command_argument(i + 1, value)
      status = 0
      select case (word)
      case ('--output')
        chosen%output = value(:len(chosen%output))
      case ('--directory')
        chosen%directory = value
      case ('--restart')
        chosen%restart = value
      case ('--dumps')
        read (value, *, iostat=status) chosen%dumps
      case ('--steps')
        read (value, *, iostat=status) chosen%steps
      case ('--block')
        read (value, *, iostat=status) chosen%block
      case ('--grid')
        read (value, *, iostat=status) chosen%grid
      case ('--help')
        if (speaks) write (output_unit, '(a)') usage
        chosen%keep_going = .false.
        return
      case default
        status = 1
      end select
      if (status /= 0 .or. i == command_argument_count()) then
        if (speaks) write (error_unit, '(a)') 's3d_io: cannot take '''//trim(word)//' '//trim(value)//''''//new_line('a')//usage
        error stop
      end if
      i = i + 2
    end do
    if (chosen%dumps < 0 .or. chosen%steps < 0 .or. any(chosen%block < 1) .or. any(chosen%grid < 0)) then
      if (speaks) write (error_unit, '(a)') 's3d_io: numbers must not be negative, and a block has cells'//new_line('a')//usage
      error stop
    end if
    inquire (file=trim(chosen%directory)//'/.', exist=is_there)
    if (.not. is_there) then
      if (speaks) write (error_unit, '(3a)') 's3d_io: there is no directory "', trim(chosen%directory), '"'
      error stop
    end if
  end function read_command_line
end module options
