// SPDX-License-Identifier: BSD-3-Clause
// The calls of MPI-IO that a step may make.
#include <cstring>

#include "execution.hpp"

namespace transparent {

void Execution::begin(const Step& step, Pending& pending, MPI_Datatype type) {
  if (step.pointer == Pointer::shared) return begin_shared(step, pending, type);
  MPI_File file = opened(step.file).handle;
  void* buffer = pending.memory.buffer();
  const int count = pending.action.count;
  const MPI_Offset offset = pending.action.offset;
  MPI_Status* status = &pending.status;
  const bool at = step.pointer == Pointer::offset;
  const bool nonblocking = step.timing == Timing::nonblocking && (!step.collective || care_.nonblocking_collective);
  int code = MPI_SUCCESS;
  if (step.timing == Timing::split && at) {
    code = (step.write ? MPI_File_write_at_all_begin(file, offset, buffer, count, type)
                       : MPI_File_read_at_all_begin(file, offset, buffer, count, type));
  } else if (step.timing == Timing::split) {
    code = step.write ? MPI_File_write_all_begin(file, buffer, count, type) : MPI_File_read_all_begin(file, buffer, count, type);
  } else if (nonblocking && at && step.write) {
    const auto call = step.collective ? MPI_File_iwrite_at_all : MPI_File_iwrite_at;
    code = call(file, offset, buffer, count, type, &pending.request);
  } else if (nonblocking && at) {
    const auto call = step.collective ? MPI_File_iread_at_all : MPI_File_iread_at;
    code = call(file, offset, buffer, count, type, &pending.request);
  } else if (nonblocking) {
    code = step.write ? (step.collective ? MPI_File_iwrite_all : MPI_File_iwrite)(file, buffer, count, type, &pending.request)
                      : (step.collective ? MPI_File_iread_all : MPI_File_iread)(file, buffer, count, type, &pending.request);
  } else if (at && step.write) {
    code = (step.collective ? MPI_File_write_at_all : MPI_File_write_at)(file, offset, buffer, count, type, status);
  } else if (at) {
    code = (step.collective ? MPI_File_read_at_all : MPI_File_read_at)(file, offset, buffer, count, type, status);
  } else if (step.write) {
    code = (step.collective ? MPI_File_write_all : MPI_File_write)(file, buffer, count, type, status);
  } else {
    code = (step.collective ? MPI_File_read_all : MPI_File_read)(file, buffer, count, type, status);
  }
  ok(code, pending.step, call_of(step).c_str());
}

void Execution::begin_shared(const Step& step, Pending& pending, MPI_Datatype type) {
  MPI_File file = opened(step.file).handle;
  void* buffer = pending.memory.buffer();
  const int count = pending.action.count;
  MPI_Status* status = &pending.status;
  int code = MPI_SUCCESS;
  if (step.timing == Timing::split) {
    code = step.write ? MPI_File_write_ordered_begin(file, buffer, count, type) : MPI_File_read_ordered_begin(file, buffer, count, type);
  } else if (step.collective) {
    code = step.write ? MPI_File_write_ordered(file, buffer, count, type, status)
                      : MPI_File_read_ordered(file, buffer, count, type, status);
  } else if (step.timing == Timing::nonblocking) {
    code = (step.write ? MPI_File_iwrite_shared(file, buffer, count, type, &pending.request)
                       : MPI_File_iread_shared(file, buffer, count, type, &pending.request));
  } else {
    code = step.write ? MPI_File_write_shared(file, buffer, count, type, status)
                      : MPI_File_read_shared(file, buffer, count, type, status);
  }
  ok(code, pending.step, call_of(step).c_str());
}

void Execution::end(const Step& step, Pending& pending) {
  MPI_File file = opened(step.file).handle;
  void* buffer = pending.memory.buffer();
  const auto write = step.pointer == Pointer::shared   ? MPI_File_write_ordered_end
                     : step.pointer == Pointer::offset ? MPI_File_write_at_all_end
                                                       : MPI_File_write_all_end;
  const auto read = step.pointer == Pointer::shared   ? MPI_File_read_ordered_end
                    : step.pointer == Pointer::offset ? MPI_File_read_at_all_end
                                                      : MPI_File_read_all_end;
  ok(step.write ? write(file, buffer, &pending.status) : read(file, buffer, &pending.status), pending.step, "end");
}

void Execution::query(const Step& step) {
  MPI_File file = opened(step.file).handle;
  const Sight& sight = model_.sight(step.file, rank_);
  const auto expect = [&](const char* what, std::int64_t found, std::int64_t expected) {
    if (found != expected) failed(-1, std::string(what) + " is " + std::to_string(found) + " instead of " + std::to_string(expected));
  };
  MPI_Offset value = -1;
  MPI_File_get_position(file, &value);
  expect("get_position", value, sight.pointer);
  MPI_File_get_byte_offset(file, step.value, &value);
  expect("get_byte_offset", value, sight.byte_offset(step.value));
  if (!model_.file(step.file).written_since_sync) {
    MPI_File_get_size(file, &value);
    expect("get_size", value, static_cast<std::int64_t>(model_.contents(step.file, rank_).bytes.size()));
  }
  MPI_Barrier(opened(step.file).comm);   // before another rank makes the file larger
  MPI_Datatype etype, filetype;
  char representation[MPI_MAX_DATAREP_STRING] = "";
  MPI_File_get_view(file, &value, &etype, &filetype, representation);
  expect("the displacement of get_view", value, sight.displacement);
  expect("get_view's representation is native", std::strcmp(representation, "native"), 0);
  int bytes = -1;
  MPI_Aint lower = -1, extent = -1;
  MPI_Type_size(etype, &bytes);
  expect("the size of get_view's etype", bytes, sight.etype_bytes);
  MPI_Type_size(filetype, &bytes);
  expect("the size of get_view's filetype", bytes, sight.flat.size());
  MPI_Type_get_extent(filetype, &lower, &extent);
  expect("the extent of get_view's filetype", extent, sight.flat.extent());
  for (MPI_Datatype* type : {&etype, &filetype}) {
    int counts[3], combiner;
    MPI_Type_get_envelope(*type, &counts[0], &counts[1], &counts[2], &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(type);
  }
}

}  // namespace transparent
