! SPDX-License-Identifier: BSD-3-Clause
!
! The fields of a restart dump, and what they are at any time: an exact solution of the Navier-Stokes equations at constant density with
! heat and species that the flow carries along and that diffuse.
!
! A shear wave travels on a mean flow that a constant pressure gradient accelerates:
!   phase    = k.(x - U t - g t^2 / 2)
!   velocity = U + g t + a exp(-nu k^2 t) (e1 sin(phase) + e2 cos(phase)),   e1, e2 at right angles to k
!   pressure = p0 - rho g.x
! The wave does not act on itself, because its velocity is at right angles to its gradient. So temperature and species, which depend on
! the phase alone, are waves too, each with a decay of its own: exp(-D (n k)^2 t) sin(n phase + shift).
module fields
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: decomposition, state, decompose, allocate_state, set_exact, error_of, bytes_of_dump

  integer, parameter, public :: species = 11, directions = 3
  real(real64), parameter, public :: tolerance = 1d-10   ! compilers add up in different orders
  real(real64), parameter :: pi = 3.14159265358979323846_real64
  real(real64), parameter :: wave(3) = 2 * pi * [1, 2, 2], first(3) = [0d0, 1d0, -1d0] / sqrt(2d0)
  real(real64), parameter :: second(3) = [-4d0, 1d0, 1d0] / sqrt(18d0)
  real(real64), parameter :: mean(3) = [1d0, 0.5d0, 0.25d0], push(3) = [0.1d0, 0.2d0, 0.4d0]
  real(real64), parameter :: amplitude = 0.3d0, viscosity = 1d-3, diffusivity = 2d-3, base_pressure = 100, base_temperature = 300

  ! Which cells of the whole grid this rank has: `count` of them from `start`, which counts from 1.
  type :: decomposition
    integer :: ranks(3) = 1, whole(3) = 0, start(3) = 1, count(3) = 0
  end type decomposition

  ! As S3D has them: one block per variable over this rank's cells.
  type :: state
    type(decomposition) :: grid
    integer :: step = 0
    real(real64) :: time = 0
    real(real64), allocatable :: yspecies(:, :, :, :), temp(:, :, :), pressure(:, :, :), u(:, :, :, :)
  end type state

contains

  ! This rank's part of the grid; ranks are numbered along x first. The parts differ by one cell at most in each direction.
  function decompose(whole, ranks, rank) result(grid)
    integer, intent(in) :: whole(3), ranks(3), rank
    type(decomposition) :: grid
    integer :: place(3), d, behind
    place = [mod(rank, ranks(1)), mod(rank / ranks(1), ranks(2)), rank / (ranks(1) * ranks(2))]
    grid%ranks = ranks
    grid%whole = whole
    do d = 1, 3
      grid%start(d) = int(int(whole(d), int64) * place(d) / ranks(d)) + 1
      behind = int(int(whole(d), int64) * (place(d) + 1) / ranks(d))
      grid%count(d) = behind - grid%start(d) + 1
    end do
  end function decompose

  subroutine allocate_state(now, grid)
    type(state), intent(inout) :: now
    type(decomposition), intent(in) :: grid
    now%grid = grid
    associate (n => grid%count)
      allocate (now%yspecies(n(1), n(2), n(3), species), now%temp(n(1), n(2), n(3)), now%pressure(n(1), n(2), n(3)))
      allocate (now%u(n(1), n(2), n(3), directions))
    end associate
  end subroutine allocate_state

  ! Of all ranks.
  integer(int64) function bytes_of_dump(grid)
    type(decomposition), intent(in) :: grid
    bytes_of_dump = 8 * product(int(grid%whole, int64)) * (species + directions + 2)
  end function bytes_of_dump

  subroutine set_exact(now, step, time)
    type(state), intent(inout) :: now
    integer, intent(in) :: step
    real(real64), intent(in) :: time
    integer :: i, j, k, n
    real(real64) :: at(3), phase, moved(3), decay, flow(3)

    now%step = step
    now%time = time
    moved = mean * time + push * time**2 / 2
    flow = mean + push * time
    decay = amplitude * exp(-viscosity * sum(wave**2) * time)
    do k = 1, now%grid%count(3)
      do j = 1, now%grid%count(2)
        do i = 1, now%grid%count(1)
          at = (now%grid%start + [i, j, k] - 1.5d0) / now%grid%whole
          phase = dot_product(wave, at - moved)
          now%u(i, j, k, :) = flow + decay * (first * sin(phase) + second * cos(phase))
          now%pressure(i, j, k) = base_pressure - dot_product(push, at)
          now%temp(i, j, k) = base_temperature + 10 * carried(phase, 1, 0.25d0, time)
          do n = 1, species
            now%yspecies(i, j, k, n) = (1 + 0.5d0 * carried(phase, n, 0.1d0 * n, time)) / species
          end do
        end do
      end do
    end do
  end subroutine set_exact

  pure real(real64) function carried(phase, n, shift, time)
    real(real64), intent(in) :: phase, shift, time
    integer, intent(in) :: n
    carried = exp(-diffusivity * n**2 * sum(wave**2) * time) * sin(n * phase + shift)
  end function carried

  ! How far the fields are from the exact ones of their time; of this rank.
  real(real64) function error_of(now)
    type(state), intent(in) :: now
    type(state) :: exact
    call allocate_state(exact, now%grid)
    call set_exact(exact, now%step, now%time)
    error_of = max(maximum(abs(now%temp - exact%temp)), maximum(abs(now%pressure - exact%pressure)))
    error_of = max(error_of, maximum(reshape(abs(now%u - exact%u), [product(now%grid%count), directions, 1])))
    error_of = max(error_of, maximum(reshape(abs(now%yspecies - exact%yspecies), [product(now%grid%count), species, 1])))
  end function error_of

  ! Not a number is the largest of all: no comparison finds it.
  pure real(real64) function maximum(values)
    real(real64), intent(in) :: values(:, :, :)
    maximum = 0
    if (size(values) == 0) return
    maximum = maxval(values)
    if (.not. all(values <= maximum)) maximum = huge(maximum)
  end function maximum
end module fields
