! SPDX-License-Identifier: BSD-3-Clause
!
! Arrays of every kind and rank, with gaps and without, are put and read back. Argument: a directory for the file.
program kinds_and_ranks
  use mpi_f08
  use glean
  use expecting
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  type(glean_session) :: session
  type(glean_output) :: out
  type(glean_input) :: in
  ! Each variable has 2 elements in each dimension, in the last one 2 for each rank.
  type(glean_dimension) :: two, every
  character(len=1000) :: path

  call start_ranks()
  call get_command_argument(1, path)
  write (path, '(2a,i0,a)') trim(path), '/kinds_', ranks, '.nc'
  call glean_session_open(MPI_COMM_WORLD, session, stat=stat, errmsg=errmsg)
  call ok('open a session')
  call glean_output_open(session, path, GLEAN_CDF5, out)
  call glean_output_define_dimension(out, 'two', 2, two)
  call glean_output_define_dimension(out, 'every', 2 * ranks, every)
  call define_int8()
  call define_int16()
  call define_int32()
  call define_int64()
  call define_real32()
  call define_real64()
  call glean_output_begin_step(out)
  call put_int8()
  call put_int16()
  call put_int32()
  call put_int64()
  call put_real32()
  call put_real64()
  call glean_output_end_step(out)
  call glean_output_close_at(out, GLEAN_DURABLE, stat=stat, errmsg=errmsg)
  call ok('everything was put')
  call glean_output_free(out)
  call glean_input_open(session, path, in)
  call read_int8()
  call read_int16()
  call read_int32()
  call read_int64()
  call read_real32()
  call read_real64()
  call read_together()
  call prefetch()
  call glean_input_free(in)
  call glean_session_close(session, stat, errmsg)
  call ok('no call without stat has failed')
  call glean_session_free(session)
  call end_ranks()

contains

  subroutine define(name, external)
    character(len=*), intent(in) :: name
    integer, intent(in) :: external
    type(glean_variable) :: variable
    integer :: rank, i
    character(len=1) :: digit
    do rank = 0, 7
      write (digit, '(i1)') rank
      if (rank > 0) then
        call glean_output_define_variable(out, name//digit, external, [(two, i=1, rank - 1), every], &
            [(1, i=1, rank - 1), 2 * me + 1], [(2, i=1, rank)], variable)
      else if (me == 0) then
        call glean_output_define_variable(out, name//digit, external, [glean_dimension ::], [integer ::], [integer ::], variable)
      else
        call glean_output_define_variable(out, name//digit, external, [glean_dimension ::], variable)
      end if
    end do
  end subroutine define

  subroutine read_together()
    integer(int32) :: mine(2, 2), alone(2, 2)
    real(real32) :: wide(3, 2)
    call glean_input_read(in, of_input('i32_2'), alone, [1, 2 * me + 1])
    mine = -1
    call glean_input_read_all(in, of_input('i32_2'), mine, [1, 2 * me + 1], stat=stat, errmsg=errmsg)
    call ok('read by all ranks')
    call expect(all(mine == alone), 'each rank reads its part')
    wide = -1
    call glean_input_read_all(in, of_input('i32_2'), wide(1:3:2, :), [1_int64, 2_int64 * me + 1], 1, stat, errmsg)
    call ok('read by all ranks into a section, converted')
    call expect(all(nint(wide(1:3:2, :)) == alone) .and. all(wide(2, :) == -1), 'what is between its elements is not touched')
    call glean_input_read_all(in, of_input('i32_2'), mine, [merge(0, 1, me == 0), 1], stat=stat, errmsg=errmsg)
    call expect(stat /= GLEAN_OK, 'what one rank refuses all are told')
    if (me == 0) call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'read what lies before the array')
    call glean_input_read_all(in, of_input('i32_2'), mine, [1, 2 * me + 1], stat=stat, errmsg=errmsg)
    call ok('and they go on together')
  end subroutine read_together

  subroutine prefetch()
    type(glean_variable) :: v
    v = of_input('i32_2')
    call glean_input_prefetch(in, v, stat=stat, errmsg=errmsg)
    call ok('prefetch all of a variable')
    call glean_input_prefetch(in, v, [1, 1], [2, 2 * ranks], stat=stat, errmsg=errmsg)
    call ok('prefetch a box')
    call glean_input_prefetch(in, v, [1_int64, 1_int64], [2_int64, 2_int64 * ranks + 1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'does not lie in', 'prefetch more than there is')
    call glean_input_prefetch(in, v, [0, 1], [1, 1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'count from 1', 'prefetch what lies before the array')
    call glean_input_prefetch(in, v, [1], [1], stat=stat, errmsg=errmsg)
    call failed(GLEAN_INVALID_ARGUMENT, 'not as many numbers', 'prefetch of too few dimensions')
  end subroutine prefetch

  function of_output(name) result(variable)
    character(len=*), intent(in) :: name
    type(glean_variable) :: variable
    call glean_output_find_variable(out, name, variable)
  end function of_output

  function of_input(name) result(variable)
    character(len=*), intent(in) :: name
    type(glean_variable) :: variable
    call glean_input_find_variable(in, name, variable)
  end function of_input

#define JOIN(first) first

#define KIND integer(int8)
#define NAME int8
#define CODE GLEAN_INT8
#include "one_kind.inc"
#define KIND integer(int16)
#define NAME int16
#define CODE GLEAN_INT16
#include "one_kind.inc"
#define KIND integer(int32)
#define NAME int32
#define CODE GLEAN_INT32
#include "one_kind.inc"
#define KIND integer(int64)
#define NAME int64
#define CODE GLEAN_INT64
#include "one_kind.inc"
#define KIND real(real32)
#define NAME real32
#define CODE GLEAN_FLOAT32
#include "one_kind.inc"
#define KIND real(real64)
#define NAME real64
#define CODE GLEAN_FLOAT64
#include "one_kind.inc"
end program kinds_and_ranks
