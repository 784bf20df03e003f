// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of MPI-IO that act on an open file, as a table: name, parameters, and what follows the handle when the call is
// made. Wrappers, counters and the report are made of it.
//
// Not in it: MPI_File_open, _close and _delete, which are written out; and what belongs to the handle itself (c2f, f2c and
// the error handlers), which needs no wrapper, because the program's handle is always one of the MPI library's.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <string_view>

// What asks for or changes something other than data.
#define GLEAN_MPIIO_CONTROL_CALLS(CALL)                                                                                 \
  GLEAN_MPIIO_PLAIN_CONTROL_CALLS(CALL)                                                                                 \
  GLEAN_MPIIO_VIEW_CALLS(CALL)
#define GLEAN_MPIIO_PLAIN_CONTROL_CALLS(CALL)                                                                                 \
  CALL(set_size, (MPI_File fh, MPI_Offset size), size)                                                                  \
  CALL(preallocate, (MPI_File fh, MPI_Offset size), size)                                                               \
  CALL(get_size, (MPI_File fh, MPI_Offset* size), size)                                                                 \
  CALL(get_group, (MPI_File fh, MPI_Group* group), group)                                                               \
  CALL(get_amode, (MPI_File fh, int* amode), amode)                                                                     \
  CALL(set_info, (MPI_File fh, MPI_Info info), info)                                                                    \
  CALL(get_info, (MPI_File fh, MPI_Info* info), info)                                                                   \
  CALL(seek, (MPI_File fh, MPI_Offset offset, int whence), offset, whence)                                              \
  CALL(get_position, (MPI_File fh, MPI_Offset* offset), offset)                                                         \
  CALL(get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset* disp), offset, disp)                               \
  CALL(seek_shared, (MPI_File fh, MPI_Offset offset, int whence), offset, whence)                                       \
  CALL(get_position_shared, (MPI_File fh, MPI_Offset* offset), offset)                                                  \
  CALL(set_atomicity, (MPI_File fh, int flag), flag)                                                                    \
  CALL(get_atomicity, (MPI_File fh, int* flag), flag)                                                                   \
  CALL(sync, (MPI_File fh))
// Those with a string, which Fortran passes in another way.
#define GLEAN_MPIIO_VIEW_CALLS(CALL)                                                                                    \
  CALL(set_view, (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep, MPI_Info info), \
       disp, etype, filetype, datarep, info)                                                                            \
  CALL(get_view, (MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep),           \
       disp, etype, filetype, datarep)

// What moves data. GLEAN_COUNT is the type of a count: the calls of MPI-4 whose names end in _c have a larger one.
#define GLEAN_MPIIO_DATA_CALLS(CALL)                                                                                    \
  GLEAN_MPIIO_EXPLICIT_CALLS(CALL)                                                                                      \
  GLEAN_MPIIO_POINTER_CALLS(CALL)                                                                                       \
  GLEAN_MPIIO_BEGIN_CALLS(CALL)
#define GLEAN_MPIIO_READ_AT (MPI_File fh, MPI_Offset offset, void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Status* status)
#define GLEAN_MPIIO_WRITE_AT \
  (MPI_File fh, MPI_Offset offset, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Status* status)
#define GLEAN_MPIIO_IREAD_AT (MPI_File fh, MPI_Offset offset, void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Request* request)
#define GLEAN_MPIIO_IWRITE_AT \
  (MPI_File fh, MPI_Offset offset, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Request* request)
#define GLEAN_MPIIO_EXPLICIT_CALLS(CALL)                                                                                \
  CALL(read_at, GLEAN_MPIIO_READ_AT, offset, buf, count, datatype, status)                                              \
  CALL(read_at_all, GLEAN_MPIIO_READ_AT, offset, buf, count, datatype, status)                                          \
  CALL(write_at, GLEAN_MPIIO_WRITE_AT, offset, buf, count, datatype, status)                                            \
  CALL(write_at_all, GLEAN_MPIIO_WRITE_AT, offset, buf, count, datatype, status)                                        \
  CALL(iread_at, GLEAN_MPIIO_IREAD_AT, offset, buf, count, datatype, request)                                           \
  CALL(iread_at_all, GLEAN_MPIIO_IREAD_AT, offset, buf, count, datatype, request)                                       \
  CALL(iwrite_at, GLEAN_MPIIO_IWRITE_AT, offset, buf, count, datatype, request)                                         \
  CALL(iwrite_at_all, GLEAN_MPIIO_IWRITE_AT, offset, buf, count, datatype, request)

#define GLEAN_MPIIO_READ (MPI_File fh, void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Status* status)
#define GLEAN_MPIIO_WRITE (MPI_File fh, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Status* status)
#define GLEAN_MPIIO_IREAD (MPI_File fh, void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Request* request)
#define GLEAN_MPIIO_IWRITE (MPI_File fh, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype, MPI_Request* request)
#define GLEAN_MPIIO_POINTER_CALLS(CALL)                                                                                 \
  CALL(read, GLEAN_MPIIO_READ, buf, count, datatype, status)                                                            \
  CALL(read_all, GLEAN_MPIIO_READ, buf, count, datatype, status)                                                        \
  CALL(write, GLEAN_MPIIO_WRITE, buf, count, datatype, status)                                                          \
  CALL(write_all, GLEAN_MPIIO_WRITE, buf, count, datatype, status)                                                      \
  CALL(iread, GLEAN_MPIIO_IREAD, buf, count, datatype, request)                                                         \
  CALL(iread_all, GLEAN_MPIIO_IREAD, buf, count, datatype, request)                                                     \
  CALL(iwrite, GLEAN_MPIIO_IWRITE, buf, count, datatype, request)                                                       \
  CALL(iwrite_all, GLEAN_MPIIO_IWRITE, buf, count, datatype, request)                                                   \
  CALL(read_shared, GLEAN_MPIIO_READ, buf, count, datatype, status)                                                     \
  CALL(write_shared, GLEAN_MPIIO_WRITE, buf, count, datatype, status)                                                   \
  CALL(iread_shared, GLEAN_MPIIO_IREAD, buf, count, datatype, request)                                                  \
  CALL(iwrite_shared, GLEAN_MPIIO_IWRITE, buf, count, datatype, request)                                                \
  CALL(read_ordered, GLEAN_MPIIO_READ, buf, count, datatype, status)                                                    \
  CALL(write_ordered, GLEAN_MPIIO_WRITE, buf, count, datatype, status)

#define GLEAN_MPIIO_BEGIN_CALLS(CALL)                                                                                   \
  CALL(read_at_all_begin, (MPI_File fh, MPI_Offset offset, void* buf, GLEAN_COUNT count, MPI_Datatype datatype),        \
       offset, buf, count, datatype)                                                                                    \
  CALL(write_at_all_begin, (MPI_File fh, MPI_Offset offset, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype), \
       offset, buf, count, datatype)                                                                                    \
  CALL(read_all_begin, (MPI_File fh, void* buf, GLEAN_COUNT count, MPI_Datatype datatype), buf, count, datatype)        \
  CALL(write_all_begin, (MPI_File fh, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype), buf, count, datatype) \
  CALL(read_ordered_begin, (MPI_File fh, void* buf, GLEAN_COUNT count, MPI_Datatype datatype), buf, count, datatype)    \
  CALL(write_ordered_begin, (MPI_File fh, const void* buf, GLEAN_COUNT count, MPI_Datatype datatype), buf, count, datatype)

// What depends on the count type or ends what does.
#define GLEAN_MPIIO_END_CALLS(CALL)                                                                                     \
  CALL(read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status), buf, status)                                      \
  CALL(write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status), buf, status)                               \
  CALL(read_all_end, (MPI_File fh, void* buf, MPI_Status* status), buf, status)                                         \
  CALL(write_all_end, (MPI_File fh, const void* buf, MPI_Status* status), buf, status)                                  \
  CALL(read_ordered_end, (MPI_File fh, void* buf, MPI_Status* status), buf, status)                                     \
  CALL(write_ordered_end, (MPI_File fh, const void* buf, MPI_Status* status), buf, status)
#define GLEAN_MPIIO_TYPE_CALLS(CALL) \
  CALL(get_type_extent, (MPI_File fh, MPI_Datatype datatype, GLEAN_EXTENT* extent), datatype, extent)

#define GLEAN_MPIIO_CALLS(CALL)                                                                                         \
  GLEAN_MPIIO_CONTROL_CALLS(CALL)                                                                                       \
  GLEAN_MPIIO_DATA_CALLS(CALL)                                                                                          \
  GLEAN_MPIIO_END_CALLS(CALL)                                                                                           \
  GLEAN_MPIIO_TYPE_CALLS(CALL)

namespace glean::mpiio {

#define GLEAN_MPIIO_NAME(name, ...) name,
enum class Call { open, close, delete_file, GLEAN_MPIIO_CALLS(GLEAN_MPIIO_NAME) count };
#undef GLEAN_MPIIO_NAME

#define GLEAN_MPIIO_NAME(name, ...) "MPI_File_" #name,
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Call::count)> call_names{
    "MPI_File_open", "MPI_File_close", "MPI_File_delete", GLEAN_MPIIO_CALLS(GLEAN_MPIIO_NAME)};
#undef GLEAN_MPIIO_NAME

}  // namespace glean::mpiio
