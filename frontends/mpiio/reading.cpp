// SPDX-License-Identifier: BSD-3-Clause
//
// Reads: the MPI library makes them, on a handle of this rank's own, when all that was captured is in the file. Collective ones
// too: on one node ranks have nothing to gather for each other, and collective reads of ompio 4.1.4 have brought wrong bytes where
// ranks read the same. Blocking collective ones begin with a barrier: what any rank has written before its own such call is read
// (collective_call.hpp).
#include "base/clock.hpp"
#include "base/log.hpp"
#include "captured_file.hpp"

namespace glean::mpiio {

namespace {

// A file that is read again and again between small writes.
constexpr std::uint64_t many_reads = 16;
constexpr Bytes small_writes = base::MiB;   // between two of them

}  // namespace

void CapturedFile::check_is_here() const {
  if (!target_->output || !target_->output->is_at_stagers()) return;
  static std::atomic<bool> has_been_said = false;
  if (!has_been_said.exchange(true)) {
    base::log(base::LogLevel::error, "'{}' is open, and only the stagers see it: close it before it is read, or mount that file system",
              target_->path);
  }
  fail(MPI_ERR_UNSUPPORTED_OPERATION);
}

void CapturedFile::flush_to_read() {
  check_is_here();
  const std::uint32_t collective_count = wait_for_ranks();
  const std::uint64_t begin = base::now_ns();
  if (!locked([&] { return output().flush(collective_count, session::ByteOutput::Then::read); })) return;
  waited_ns_ += base::now_ns() - begin;
  if (reads_that_waited_ == 0) static_cast<void>(session_.read_back().note_read(target_->path));
  const std::uint64_t reads = ++reads_that_waited_;
  if (reads < many_reads || captured_bytes_ / reads > small_writes || !compares_ || writes_through_.exchange(true)) return;
  base::log(rank_ == 0 ? base::LogLevel::warning : base::LogLevel::info,
            "'{}': reads follow small writes again and again: what this rank writes passes through from now on", target_->path);
}

MPI_File CapturedFile::original() {
  flush_to_read();
  return flushed_original();
}

MPI_File CapturedFile::flushed_original() {
  const std::lock_guard lock(alone_lock_);
  if (alone_.handle() == MPI_FILE_NULL) {
    Hints hints = hints_.of_one_rank();
    // Reading more than is written, and writing it back, would undo what is captured meanwhile.
    hints.set("romio_ds_write", "disable");
    alone_.open(MPI_COMM_SELF, output().working_path(), amode_ & (MPI_MODE_WRONLY | MPI_MODE_RDWR), hints);
  }
  alone_.take_view(stand_in_, view_.version);
  return alone_.handle();
}

void CapturedFile::check_readable() const {
  if ((amode_ & MPI_MODE_WRONLY) != 0) fail(MPI_ERR_ACCESS);
}

// `operation` of a handle whose pointer is this rank's; how far it goes is the MPI library's to say.
template <class Operation>
void CapturedFile::at_pointer(Operation operation) {
  check_readable();
  flush_to_read();   // waits for other ranks, while another thread may ask for the position
  const std::lock_guard lock(pointer_lock_);
  const MPI_File file = flushed_original();
  succeeded(PMPI_File_seek(file, position_, MPI_SEEK_SET));
  succeeded(operation(file));
  succeeded(PMPI_File_get_position(file, &position_));
}

template <class Operation>
void CapturedFile::at_offset(Operation operation) {
  check_readable();
  succeeded(operation(original()));
}

// What the MPI library is called with.
#define GLEAN_MPIIO_DATA buf, static_cast<OriginalCount>(count), datatype

// --- explicit offsets

void CapturedFile::read_at(MPI_File, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  at_offset([&](MPI_File file) { return GLEAN_MPIIO_ORIGINAL(read_at)(file, offset, GLEAN_MPIIO_DATA, status); });
}

void CapturedFile::read_at_all(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  const CollectiveCall call = collective(CollectiveCall::Kind::read);
  read_at(fh, offset, buf, count, datatype, status);
}

void CapturedFile::iread_at(MPI_File, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  at_offset([&](MPI_File file) { return GLEAN_MPIIO_ORIGINAL(iread_at)(file, offset, GLEAN_MPIIO_DATA, request); });
}

void CapturedFile::iread_at_all(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  iread_at(fh, offset, buf, count, datatype, request);
}

// --- this rank's pointer

void CapturedFile::read(MPI_File, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  at_pointer([&](MPI_File file) { return GLEAN_MPIIO_ORIGINAL(read)(file, GLEAN_MPIIO_DATA, status); });
}

void CapturedFile::read_all(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  const CollectiveCall call = collective(CollectiveCall::Kind::read);
  read(fh, buf, count, datatype, status);
}

void CapturedFile::iread(MPI_File, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  at_pointer([&](MPI_File file) { return GLEAN_MPIIO_ORIGINAL(iread)(file, GLEAN_MPIIO_DATA, request); });
}

void CapturedFile::iread_all(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  iread(fh, buf, count, datatype, request);
}

// --- the shared pointer

void CapturedFile::read_shared(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  check_readable();
  read_at(fh, take_shared(etypes_of(count, datatype)), buf, count, datatype, status);
}

void CapturedFile::iread_shared(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request) {
  check_readable();
  iread_at(fh, take_shared(etypes_of(count, datatype)), buf, count, datatype, request);
}

void CapturedFile::read_ordered(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status) {
  check_readable();
  const CollectiveCall call = collective(CollectiveCall::Kind::read);
  read_at(fh, take_ordered(etypes_of(count, datatype)), buf, count, datatype, status);
}

// --- in two halves: the first does it

void CapturedFile::read_at_all_begin(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype) {
  check_no_split();
  MPI_Status status{};
  read_at_all(fh, offset, buf, count, datatype, &status);
  split_ = status;
}

void CapturedFile::read_all_begin(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype) {
  check_no_split();
  MPI_Status status{};
  read_all(fh, buf, count, datatype, &status);
  split_ = status;
}

void CapturedFile::read_ordered_begin(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype) {
  check_no_split();
  MPI_Status status{};
  read_ordered(fh, buf, count, datatype, &status);
  split_ = status;
}

void CapturedFile::read_at_all_end(MPI_File, void* /*buf*/, MPI_Status* status) { end_split(status); }
void CapturedFile::read_all_end(MPI_File, void* /*buf*/, MPI_Status* status) { end_split(status); }
void CapturedFile::read_ordered_end(MPI_File, void* /*buf*/, MPI_Status* status) { end_split(status); }

}  // namespace glean::mpiio
