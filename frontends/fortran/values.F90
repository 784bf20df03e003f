! SPDX-License-Identifier: BSD-3-Clause
!
! Constants and plain values of the module glean; their numbers are those of glean/glean.h (tools/check_api compares them).
module glean_values
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  public
  private :: int64, real64

  ! Status of a call: what `stat` is set to.
  enum, bind(C)
    enumerator :: GLEAN_OK = 0
    enumerator :: GLEAN_INVALID_ARGUMENT, GLEAN_INVALID_STATE, GLEAN_INVALID_CONFIG, GLEAN_OVERLAP, GLEAN_OUT_OF_RANGE
    enumerator :: GLEAN_TIMEOUT, GLEAN_NO_SPACE, GLEAN_PERMISSION, GLEAN_EXISTS, GLEAN_NOT_FOUND, GLEAN_IO
    enumerator :: GLEAN_UNSUPPORTED, GLEAN_NO_MEMORY, GLEAN_INTERNAL
  end enum

  ! Types of elements in the file. Fortran has no unsigned integers; a file may.
  enum, bind(C)
    enumerator :: GLEAN_INT8 = 0
    enumerator :: GLEAN_UINT8, GLEAN_INT16, GLEAN_UINT16, GLEAN_INT32, GLEAN_UINT32, GLEAN_INT64, GLEAN_UINT64
    enumerator :: GLEAN_FLOAT32, GLEAN_FLOAT64, GLEAN_TEXT
  end enum

  ! What a variable on a grid has one value of.
  enum, bind(C)
    enumerator :: GLEAN_CELLS = 0
    enumerator :: GLEAN_POINTS
  end enum

  ! The shape of a cell, and the order of its points. The numbers are VTK's. A Lagrange hexahedron of any order has the same along all
  ! edges: (order + 1)**3 points.
  enum, bind(C)
    enumerator :: GLEAN_VERTEX = 1
    enumerator :: GLEAN_POLY_VERTEX, GLEAN_LINE, GLEAN_POLY_LINE, GLEAN_TRIANGLE, GLEAN_TRIANGLE_STRIP, GLEAN_POLYGON, GLEAN_PIXEL
    enumerator :: GLEAN_QUAD, GLEAN_TETRA, GLEAN_VOXEL, GLEAN_HEXAHEDRON, GLEAN_WEDGE, GLEAN_PYRAMID, GLEAN_PENTAGONAL_PRISM
    enumerator :: GLEAN_HEXAGONAL_PRISM
    enumerator :: GLEAN_LAGRANGE_HEXAHEDRON = 72
  end enum

  ! How safe captured data is. Each level includes the ones before it.
  enum, bind(C)
    enumerator :: GLEAN_CAPTURED = 0
    enumerator :: GLEAN_STAGED, GLEAN_WRITTEN, GLEAN_DURABLE
  end enum

  enum, bind(C)
    enumerator :: GLEAN_CDF1 = 0
    enumerator :: GLEAN_CDF2, GLEAN_CDF5, GLEAN_NPY, GLEAN_HDF5, GLEAN_VTKHDF, GLEAN_VTK
  end enum

  ! What becomes of elements that no rank puts.
  enum, bind(C)
    enumerator :: GLEAN_FILL_OFF = 0
    enumerator :: GLEAN_FILL_ON
  end enum

  ! What to do with a file that is there already.
  enum, bind(C)
    enumerator :: GLEAN_REPLACE = 0
    enumerator :: GLEAN_REFUSE
  end enum

  ! What has become of an output. C has GLEAN_OUTPUT_OPEN for the first, which in Fortran is the name of a call.
  enum, bind(C)
    enumerator :: GLEAN_STATE_OPEN = 0
    enumerator :: GLEAN_STATE_DRAINING, GLEAN_STATE_PUBLISHED, GLEAN_STATE_FAILED, GLEAN_STATE_ABANDONED, GLEAN_STATE_DROPPED
  end enum

  ! What must be so before a file of this session can be read.
  enum, bind(C)
    enumerator :: GLEAN_READ_PUBLISHED = 0
    enumerator :: GLEAN_READ_WRITTEN
  end enum

  ! Values that belong to the output or input that made them. They count from 1; 0 is none. The variables of an input are
  ! glean_variable(1), glean_variable(2), ... in the order of the file.
  type :: glean_dimension
    integer :: id = 0
  end type glean_dimension

  type :: glean_variable
    integer :: id = 0
  end type glean_variable

  type :: glean_grid
    integer :: id = 0
  end type glean_grid

  ! What this rank has seen since the session began. The members are those of C.
  type :: glean_statistics
    real(real64) :: blocked_seconds = 0
    integer(int64) :: captured_bytes = 0, puts = 0, pool_budget_bytes = 0, pool_high_water_bytes = 0
    integer(int64) :: steps_dropped = 0, spilled_bytes = 0, synchronous_bytes = 0
  end type glean_statistics

  ! An output as this rank sees it. The members are those of C.
  type :: glean_output_status
    character(len=:), allocatable :: path, error
    integer :: state = GLEAN_STATE_OPEN
    integer(int64) :: steps_ended = 0, steps_staged = 0, steps_written = 0, steps_durable = 0, steps_dropped = 0
  end type glean_output_status

  ! What a trigger, or an analysis of the user's own, tells the program. The members are those of C.
  type :: glean_message
    character(len=:), allocatable :: text, output
    integer(int64) :: step = 0
  end type glean_message

  ! Characters of a dimension's name. NetCDF has no longer ones; what is longer is cut.
  integer, parameter :: GLEAN_NAME_LENGTH = 256

  ! A variable of a file. `shape` is that of one step, the fastest dimension first, and so are the names; that of the record dimension, if
  ! it has it, is the last one.
  type :: glean_variable_description
    character(len=:), allocatable :: name
    integer :: external = GLEAN_INT8
    logical :: per_step = .false.
    integer(int64), allocatable :: shape(:)
    character(len=GLEAN_NAME_LENGTH), allocatable :: dimension_names(:)
  end type glean_variable_description

  ! A task of a container, and a logical file in it. `task` is the rank of MPI that has written it.
  type :: glean_container_task_description
    integer :: task = 0
    integer(int64) :: chunks = 0, bytes = 0
  end type glean_container_task_description

  type :: glean_container_file_description
    character(len=:), allocatable :: name
    integer :: task = 0
    integer(int64) :: begin = 0, bytes = 0
  end type glean_container_file_description

  ! An attribute of a file or variable.
  type :: glean_attribute_description
    character(len=:), allocatable :: name
    integer :: external = GLEAN_TEXT
    integer(int64) :: elements = 0
  end type glean_attribute_description
end module glean_values
