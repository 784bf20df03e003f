! SPDX-License-Identifier: BSD-3-Clause
!
! Containers of task-local files: creating one and opening one, and what is in it. The streams of ranks: tasks.F90.
module glean_containers
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int64
  use glean_values
  use glean_handles
  use glean_questions
  use glean_container_calls
  implicit none
  private
  public :: glean_container_create, glean_container_open, glean_container_message, glean_container_free
  public :: glean_container_tasks, glean_container_task, glean_container_files, glean_container_file, glean_container_is_complete
  public :: glean_container_open_task, glean_container_open_file

contains

  ! A new container, of which each rank gets its own part. `chunk_bytes`: about what this rank writes; `name`: of the logical file with
  ! which it begins. Both may differ from rank to rank. `files`: physical files, -1 for one of each node. Collective. Blocks.
  subroutine glean_container_create(session, path, task_file, chunk_bytes, files, block_bytes, tasks_per_writer, name, stat, errmsg)
    type(glean_session), intent(in) :: session
    character(len=*), intent(in) :: path
    type(glean_task_file), intent(inout) :: task_file
    integer(int64), intent(in), optional :: chunk_bytes, block_bytes
    integer, intent(in), optional :: files, tasks_per_writer
    character(len=*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_container_options) :: options
    character(kind=c_char, len=:), allocatable, target :: name_c
    type(handle_state), pointer :: state
    integer(c_int) :: status

    if (.not. associated(session%inside)) then
      call finish(session%inside, 'glean_container_create', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    options%size = c_sizeof(options)
    if (present(chunk_bytes)) options%chunk_bytes = chunk_bytes
    if (present(block_bytes)) options%block_bytes = block_bytes
    if (present(files)) options%files = int(files, c_int)
    if (present(tasks_per_writer)) options%tasks_per_writer = int(tasks_per_writer, c_int)
    if (present(name)) then
      name_c = c_text(name)
      options%name = c_loc(name_c)
    end if
    state => new_state(OF_TASK_FILE, session%inside)
    status = c_container_create(session%inside%handle, c_text(path), options, state%handle)
    task_file%inside => state
    call finish_opening(state, 'glean_container_create', status, stat, errmsg)
  end subroutine glean_container_create

  ! Opens a container for reading on this rank. One that this session has closed is waited for. A session that is not open: for a program
  ! without one. Local. Blocks.
  subroutine glean_container_open(session, path, container, stat, errmsg)
    type(glean_session), intent(in) :: session
    character(len=*), intent(in) :: path
    type(glean_container), intent(inout) :: container
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: why(1000)
    type(handle_state), pointer :: state
    integer(c_int) :: status

    if (associated(session%inside)) then
      state => new_state(OF_CONTAINER, session%inside)
    else
      state => new_state(OF_CONTAINER)
    end if
    why = c_null_char
    status = c_container_open(handle_of(session%inside), c_text(path), state%handle, why, int(size(why), c_size_t))
    container%inside => state
    if (status == GLEAN_OK) then
      call finish(state, 'glean_container_open', status, stat, errmsg)
    else
      call finish(state, 'glean_container_open', status, stat, errmsg, text_of(c_loc(why)))
    end if
  end subroutine glean_container_open

  ! What the last failed call with this handle said; '' when there was none. Local.
  function glean_container_message(container) result(message)
    type(glean_container), intent(in) :: container
    character(len=:), allocatable :: message
    message = message_of(container%inside)
  end function glean_container_message

  ! How many tasks it has. Local.
  subroutine glean_container_tasks(container, count, stat, errmsg)
    type(glean_container), intent(in) :: container
    integer, intent(inout) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(container%inside, c_container_tasks, 'glean_container_tasks', count, stat, errmsg)
  end subroutine glean_container_tasks

  ! Task number `index` of them, from 1, by ascending ranks. Local.
  subroutine glean_container_task(container, index, description, stat, errmsg)
    type(glean_container), intent(in) :: container
    integer, intent(in) :: index
    type(glean_container_task_description), intent(inout) :: description
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_task_description) :: seen
    integer(c_int) :: status
    if (index < 1) then
      call finish(container%inside, 'glean_container_task', GLEAN_INVALID_ARGUMENT, stat, errmsg, 'tasks count from 1')
      return
    end if
    seen%size = c_sizeof(seen)
    status = c_container_task(handle_of(container%inside), int(index - 1, c_size_t), seen)
    if (status == GLEAN_OK) description = glean_container_task_description(int(seen%task), seen%chunks, seen%bytes)
    call finish(container%inside, 'glean_container_task', status, stat, errmsg)
  end subroutine glean_container_task

  ! How many logical files it has; a task without names is one, 'task.00012'. Local.
  subroutine glean_container_files(container, count, stat, errmsg)
    type(glean_container), intent(in) :: container
    integer, intent(inout) :: count
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(container%inside, c_container_files, 'glean_container_files', count, stat, errmsg)
  end subroutine glean_container_files

  ! Logical file number `index` of them, from 1. `begin`: how many bytes of the task are before it. Local.
  subroutine glean_container_file(container, index, description, stat, errmsg)
    type(glean_container), intent(in) :: container
    integer, intent(in) :: index
    type(glean_container_file_description), intent(inout) :: description
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_file_description) :: seen
    integer(c_int) :: status
    if (index < 1) then
      call finish(container%inside, 'glean_container_file', GLEAN_INVALID_ARGUMENT, stat, errmsg, 'logical files count from 1')
      return
    end if
    seen%size = c_sizeof(seen)
    status = c_container_file(handle_of(container%inside), int(index - 1, c_size_t), seen)
    if (status == GLEAN_OK) then
      description%name = text_of(seen%name)
      description%task = int(seen%task)
      description%begin = seen%begin
      description%bytes = seen%bytes
    end if
    call finish(container%inside, 'glean_container_file', status, stat, errmsg)
  end subroutine glean_container_file

  ! Whether it was closed. Local.
  subroutine glean_container_is_complete(container, is_complete, stat, errmsg)
    type(glean_container), intent(in) :: container
    logical, intent(inout) :: is_complete
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ask(container%inside, c_container_is_complete, 'glean_container_is_complete', is_complete, stat, errmsg)
  end subroutine glean_container_is_complete

  ! A task, by the rank of MPI that has written it, from its first byte on. Local.
  subroutine glean_container_open_task(container, task, input, stat, errmsg)
    type(glean_container), intent(in) :: container
    integer, intent(in) :: task
    type(glean_task_input), intent(inout) :: input
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(handle_state), pointer :: state
    integer(c_int) :: status
    if (.not. associated(container%inside)) then
      call finish(container%inside, 'glean_container_open_task', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    state => new_state(OF_TASK_INPUT, container%inside)
    status = c_container_open_task(container%inside%handle, int(task, c_int64_t), state%handle)
    input%inside => state
    call finish_opening(state, 'glean_container_open_task', status, stat, errmsg)
  end subroutine glean_container_open_task

  ! A logical file, from its first byte on. Local.
  subroutine glean_container_open_file(container, name, input, stat, errmsg)
    type(glean_container), intent(in) :: container
    character(len=*), intent(in) :: name
    type(glean_task_input), intent(inout) :: input
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(handle_state), pointer :: state
    integer(c_int) :: status
    if (.not. associated(container%inside)) then
      call finish(container%inside, 'glean_container_open_file', GLEAN_INVALID_ARGUMENT, stat, errmsg)
      return
    end if
    state => new_state(OF_TASK_INPUT, container%inside)
    status = c_container_open_file(container%inside%handle, c_text(name), state%handle)
    input%inside => state
    call finish_opening(state, 'glean_container_open_file', status, stat, errmsg)
  end subroutine glean_container_open_file

  ! Gives the handle back. Local.
  subroutine glean_container_free(container)
    type(glean_container), intent(inout) :: container
    call c_container_free(handle_of(container%inside))
    call forget_state(container%inside)
  end subroutine glean_container_free
end module glean_containers
