! SPDX-License-Identifier: BSD-3-Clause
!
! S3D's restart dumps without S3D: computes, dumps, goes on computing, and says how long the ranks stood still. README.md has more.
program s3d_io
  use mpi
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, real64
  use dump_way, only: way
  use dump_glean, only: way_glean
  use dump_mpiio, only: way_mpiio
#ifdef S3D_IO_HAVE_PNETCDF
  use dump_pnetcdf, only: way_pnetcdf
#endif
  use fields
  use options, only: choices, read_command_line
  implicit none
  real(real64), parameter :: time_step = 1d-3
  type(choices) :: chosen
  class(way), allocatable :: dumps
  type(state) :: now
  real(real64) :: started, blocked, starting, ending, computing, running, worst
  integer :: rank, ranks, ierr, dump

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  chosen = read_command_line(speaks=rank == 0)
  if (chosen%keep_going) call run()
  call MPI_Finalize(ierr)

contains

  subroutine run()
    call choose(chosen%output, dumps)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    running = MPI_Wtime()
    started = running
    if (allocated(dumps)) call dumps%start(MPI_COMM_WORLD)
    starting = MPI_Wtime() - started
    call begin(now)

    blocked = 0
    computing = 0
    do dump = 1, chosen%dumps
      started = MPI_Wtime()
      call compute(now)
      computing = computing + MPI_Wtime() - started
      call MPI_Barrier(MPI_COMM_WORLD, ierr)   ! to wait for slower ranks is not the output's fault
      started = MPI_Wtime()
      if (allocated(dumps)) call dumps%write(path_of(now%step), now)
      blocked = blocked + MPI_Wtime() - started
    end do

    started = MPI_Wtime()
    if (allocated(dumps)) call dumps%complete()
    ending = MPI_Wtime() - started
    running = MPI_Wtime() - running
    worst = 0
    if (allocated(dumps)) worst = read_back()
    call tell()
    if (allocated(dumps)) call dumps%finish()
    if (worst > tolerance) error stop 's3d_io: what was read back is not the exact solution'
  end subroutine run

  subroutine choose(name, chosen_way)
    character(len=*), intent(in) :: name
    class(way), allocatable, intent(out) :: chosen_way
    select case (name)
    case ('glean')
      allocate (way_glean :: chosen_way)
    case ('mpiio')
      allocate (way_mpiio :: chosen_way)
#ifdef S3D_IO_HAVE_PNETCDF
    case ('pnetcdf')
      allocate (chosen_way, source=way_pnetcdf(blocking=.true.))
    case ('pnetcdf-nonblocking')
      allocate (chosen_way, source=way_pnetcdf(blocking=.false.))
#endif
    case ('none')
    case default
      if (rank == 0) write (error_unit, '(a)') 's3d_io: no way to write is called '''//trim(name)//''', or it was not built'
      error stop
    end select
  end subroutine choose

  ! The fields of time 0, or those of a dump, which must be exact.
  subroutine begin(first)
    type(state), intent(inout) :: first
    integer :: whole(3), parts(3)
    real(real64) :: error
    character(len=:), allocatable :: path
    parts = 0
    call MPI_Dims_create(ranks, 3, parts, ierr)
    parts = parts(3:1:-1)
    whole = chosen%grid
    if (any(whole == 0)) whole = chosen%block * parts
    path = trim(chosen%restart)
    if (path /= '' .and. allocated(dumps)) call dumps%restart(path, whole)
    if (path == '' .or. .not. allocated(dumps)) then
      if (chosen%restart /= '' .and. rank == 0) write (output_unit, '(3a)') 'there is no ', trim(chosen%restart), ' yet: starts at step 0'
      call allocate_state(first, decompose(whole, parts, rank))
      call set_exact(first, 0, 0d0)
      return
    end if
    call allocate_state(first, decompose(whole, parts, rank))
    call dumps%read(path, first)
    error = error_of(first)
    call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (error > tolerance) error stop 's3d_io: the dump is not the exact solution'
    if (rank == 0) write (output_unit, '(3a,i0)') 'restarted from ', path, ' at step ', first%step
  end subroutine begin

  ! The simulation: the fields of each time step replace those of the one before, also while these are on their way to the disk.
  subroutine compute(fields_now)
    type(state), intent(inout) :: fields_now
    integer :: step
    do step = 1, chosen%steps
      call set_exact(fields_now, fields_now%step + 1, (fields_now%step + 1) * time_step)
    end do
    if (chosen%steps == 0) fields_now%step = fields_now%step + 1
  end subroutine compute

  function path_of(step) result(path)
    integer, intent(in) :: step
    character(len=:), allocatable :: path
    character(len=16) :: number
    write (number, '(i5.5)') step
    path = trim(chosen%directory)//'/s3d.'//trim(number)//'.field'//trim(dumps%suffix)
  end function path_of

  ! The largest error of the dumps of this run, of any rank.
  real(real64) function read_back()
    type(state) :: seen
    integer :: back
    call allocate_state(seen, now%grid)
    read_back = 0
    do back = 0, chosen%dumps - 1
      seen%step = now%step - back * max(chosen%steps, 1)
      seen%time = seen%step * time_step
      if (chosen%steps == 0) seen%time = now%time
      seen%temp = -1
      call dumps%read(path_of(seen%step), seen)
      read_back = max(read_back, error_of(seen))
    end do
    call MPI_Allreduce(MPI_IN_PLACE, read_back, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  end function read_back

  ! Of the slowest rank.
  subroutine tell()
    real(real64) :: times(5), bytes
    times = [blocked, starting, ending, computing, running]
    call MPI_Allreduce(MPI_IN_PLACE, times, 5, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (rank /= 0) return
    bytes = real(bytes_of_dump(now%grid), real64)
    write (output_unit, '(3a,i0,3a,i0,a,2(i0,a),i0)') 'output ', trim(chosen%output), ': ', chosen%dumps, ' dumps of ', &
        number(bytes / 2**20, 1), ' MiB from ', ranks, ' ranks, ', now%grid%ranks(1), ' x ', now%grid%ranks(2), ' x ', now%grid%ranks(3)
    if (allocated(dumps)) write (output_unit, '(5a)') 'blocked ', number(times(1), 4), ' s, observed ', &
        number(chosen%dumps * bytes / 2**20 / max(times(1), 1d-9), 1), ' MiB/s'
    write (output_unit, '(9a)') 'start ', number(times(2), 4), ' s, end ', number(times(3), 4), ' s, computing ', number(times(4), 4), &
        ' s, all ', number(times(5), 4), ' s'
    if (.not. allocated(dumps)) return
    write (output_unit, '(a,es8.1)') 'largest error of what was read back: ', worst
  end subroutine tell

  function number(value, digits) result(text)
    real(real64), intent(in) :: value
    integer, intent(in) :: digits
    character(len=:), allocatable :: text
    character(len=32) :: wide, form
    write (form, '(a,i0,a)') '(f32.', digits, ')'
    write (wide, form) value
    text = trim(adjustl(wide))
  end function number
end program s3d_io
