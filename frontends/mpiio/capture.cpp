// SPDX-License-Identifier: BSD-3-Clause
//
// Writes: of any kind, they are in the pool when the call returns.
#include "captured_file.hpp"

#include <limits>

#include "base/log.hpp"
#include "session/place_writer.hpp"
#include "status.hpp"
#include "type_cache.hpp"
#include "typed_memory.hpp"

namespace glean::mpiio {

Bytes CapturedFile::bytes_of(MPI_Count count, MPI_Datatype datatype) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(datatype, &bytes);
  return static_cast<Bytes>(bytes) * static_cast<Bytes>(count);
}

Bytes CapturedFile::capture(MPI_Offset at, const void* buf, MPI_Count count, MPI_Datatype datatype) {
  if (at < 0 || count < 0 || datatype == MPI_DATATYPE_NULL) {
    succeeded_for_program(
        GLEAN_MPIIO_ORIGINAL(write_at)(stand_in(), at, buf, static_cast<OriginalCount>(count), datatype, MPI_STATUS_IGNORE));
    return 0;   // some MPI libraries let it pass
  }
  if (static_cast<Bytes>(at) > static_cast<Bytes>(std::numeric_limits<MPI_Offset>::max()) / view_.etype_bytes) fail(MPI_ERR_ARG);
  if (bytes_of(count, datatype) == 0) return 0;   // also with a view that has no bytes
  const auto flat = flat_type(datatype);
  if (!view_.places || !flat || writes_through_) return write_as_it_was(at, buf, count, datatype);
  const TypedMemory memory(buf, static_cast<std::uint64_t>(count), *flat);
  if (memory.bytes() % view_.etype_bytes != 0) {   // some MPI libraries take parts of etypes
    succeeded_for_program(GLEAN_MPIIO_ORIGINAL(write_at)(stand_in_.file_with_view(), at, buf, static_cast<OriginalCount>(count), datatype,
                                                         MPI_STATUS_IGNORE));
  }
  const Bytes begin = static_cast<Bytes>(at) * view_.etype_bytes;
  const FileView& view = *view_.places;
  const std::uint64_t places = view.places_for(begin, memory.bytes());
  const bool may_collect = view.ascends();   // else each place may be a write
  const std::uint64_t writes =
      may_collect ? session::PlaceWriter::writes_for(output(), memory.bytes(), places, view.extent_of(begin, memory.bytes()), 0) : places;
  const std::uint32_t collective_count = output().keep_pace(memory.bytes(), writes);
  locked([&] {
    target_->written = true;
    const session::ByteOutput::CopyOut copy_out = [&](Bytes from, std::span<std::byte> target) { memory.copy_out(from, target); };
    session::PlaceWriter writer(output(), collective_count, copy_out, places);
    view.for_each_place(begin, memory.bytes(), [&](const mesh::Pattern& place) { writer.add(place); });
    writer.finish();
  });
  captured_bytes_ += memory.bytes();
  settle();
  return memory.bytes();
}

// What cannot be expressed as bytes of the file, or of memory, and what is not worth it.
Bytes CapturedFile::write_as_it_was(MPI_Offset at, const void* buf, MPI_Count count, MPI_Datatype datatype) {
  check_is_here();
  Session::passed_through().count(Call::write_at);
  MPI_Status status;
  MPI_Count bytes = 0;
  target_->written = true;
  output().begin_change();
  const MPI_File file = original();
  {
    const std::lock_guard lock(session_.one_at_a_time());
    if (const auto failed = session::caught([&] { output().keep_nothing(); })) fail(said(*failed));
  }
  succeeded(GLEAN_MPIIO_ORIGINAL(write_at)(file, at, buf, static_cast<OriginalCount>(count), datatype, &status));
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return static_cast<Bytes>(bytes);
}

Bytes CapturedFile::capture_at_pointer(const void* buf, MPI_Count count, MPI_Datatype datatype) {
  const std::lock_guard lock(pointer_lock_);
  const Bytes bytes = capture(position_, buf, count, datatype);
  position_ += static_cast<MPI_Offset>(bytes / view_.etype_bytes);
  return bytes;
}

// --- explicit offsets

void CapturedFile::write_at(MPI_File, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  set_status(status, capture(offset, buf, count, datatype));
}

void CapturedFile::write_at_all(MPI_File, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  set_status(status, capture(offset, buf, count, datatype));
}

void CapturedFile::iwrite_at(MPI_File, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,
                                 MPI_Request* request) {
  *request = completed_request(capture(offset, buf, count, datatype));
}

void CapturedFile::iwrite_at_all(MPI_File, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,
                                 MPI_Request* request) {
  *request = completed_request(capture(offset, buf, count, datatype));
}

// --- this rank's pointer

void CapturedFile::write(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  set_status(status, capture_at_pointer(buf, count, datatype));
}

void CapturedFile::write_all(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  set_status(status, capture_at_pointer(buf, count, datatype));
}

void CapturedFile::iwrite(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  *request = completed_request(capture_at_pointer(buf, count, datatype));
}

void CapturedFile::iwrite_all(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  *request = completed_request(capture_at_pointer(buf, count, datatype));
}

// --- the shared pointer

void CapturedFile::write_shared(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  set_status(status, capture(take_shared(etypes_of(count, datatype)), buf, count, datatype));
}

void CapturedFile::iwrite_shared(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  *request = completed_request(capture(take_shared(etypes_of(count, datatype)), buf, count, datatype));
}

void CapturedFile::write_ordered(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  set_status(status, capture(take_ordered(etypes_of(count, datatype)), buf, count, datatype));
}

// --- in two halves: the first does it

void CapturedFile::begin_split(Bytes bytes) {
  MPI_Status status{};
  set_status(&status, bytes);
  split_ = status;
}

void CapturedFile::check_no_split() const {
  if (split_) fail(MPI_ERR_OTHER);   // one at a time
}

void CapturedFile::end_split(MPI_Status* status) {
  if (!split_) fail(MPI_ERR_OTHER);
  if (status != MPI_STATUS_IGNORE) *status = *split_;
  split_.reset();
}

void CapturedFile::write_at_all_begin(MPI_File, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  check_no_split();
  begin_split(capture(offset, buf, count, datatype));
}

void CapturedFile::write_all_begin(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  check_no_split();
  begin_split(capture_at_pointer(buf, count, datatype));
}

void CapturedFile::write_ordered_begin(MPI_File, const void* buf, MPI_Count count, MPI_Datatype datatype) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  check_no_split();
  begin_split(capture(take_ordered(etypes_of(count, datatype)), buf, count, datatype));
}

void CapturedFile::write_at_all_end(MPI_File, const void* /*buf*/, MPI_Status* status) { end_split(status); }
void CapturedFile::write_all_end(MPI_File, const void* /*buf*/, MPI_Status* status) { end_split(status); }
void CapturedFile::write_ordered_end(MPI_File, const void* /*buf*/, MPI_Status* status) { end_split(status); }

}  // namespace glean::mpiio
