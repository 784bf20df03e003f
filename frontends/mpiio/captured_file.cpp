// SPDX-License-Identifier: BSD-3-Clause
//
// Opening, closing, asking and changing. What moves data is in capture.cpp and reading.cpp.
#include "captured_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "session/agreement.hpp"

namespace glean::mpiio {
namespace {


// A file that was closed without an error has failed since: the next call that tells errors tells it, once.
class UntoldFailure {
 public:
  explicit UntoldFailure(const Session& session) : core_(*session.core()) {
    if (core_.has_pool()) found_ = session::ByteOutput::untold_failure(core_);
  }
  [[nodiscard]] int code() const {
    return found_ ? error_class(base::Error(found_->code, "")) : MPI_SUCCESS;
  }
  // Its number among outputs of several nodes; 0: none.
  [[nodiscard]] std::uint64_t job_output() const { return found_ ? found_->job_output : 0; }
  // All ranks of the call return it. `job_output`: the greatest of all of them. Another one is told by a later call.
  void told(std::uint64_t job_output) {
    if (job_output != 0) found_ = {.job_output = job_output};
    if (found_) session::ByteOutput::told(core_, *found_);
  }

 private:
  const session::Core& core_;
  std::optional<session::ByteOutput::UntoldFailure> found_;
};

}  // namespace

CapturedFile::CapturedFile(Session& session, Opened opened)
    : session_(session), stand_in_(std::move(opened.stand_in)), file_comm_(std::move(opened.comm)), comm_(file_comm_->get()),
      amode_(opened.amode), target_(std::move(opened.target)), hints_(std::move(opened.hints)),
      compares_(session.compares(target_->path)), is_first_(opened.is_first) {
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &ranks_);
  const FlatType byte(MPI_BYTE);
  view_.places.emplace(0, byte);
}

CapturedFile::~CapturedFile() = default;

CollectiveCall CapturedFile::collective(CollectiveCall::Kind kind) {
  static_cast<void>(output());   // is there
  return {*target_, comm_, kind, is_first_};
}

int CapturedFile::said(const base::Error& error) const {
  const bool drain_has_said_it = target_->output && target_->output->failure();
  if (!drain_has_said_it) base::log(base::LogLevel::error, "'{}': {}", target_->path, error.what());
  return error_class(error);
}

void CapturedFile::agree(std::optional<base::Error> mine) {
  int code = mine ? said(*mine) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) {
    const std::lock_guard lock(session_.one_at_a_time());
    code = error_class(output().failure());
  }
  UntoldFailure untold(session_);
  std::uint64_t most[2] = {static_cast<std::uint64_t>(std::max(code, untold.code())), untold.job_output()};
  PMPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, comm_);
  if (most[0] == MPI_SUCCESS) return;
  untold.told(most[1]);
  fail(static_cast<int>(most[0]));
}

// --- ending

void CapturedFile::close() {
  aside_.close();
  const session::ByteOutput::Closing closing(*session_.core());
  const Bytes bytes = target_->output ? target_->output->captured_size() : 0;
  std::optional<session::Publication> publication;
  if (target_->output && session_.closes_durably(target_->path)) {
    publication.emplace(*session_.core(), target_->output->slot(), target_->path);
  }
  std::uint64_t most[6] = {0, blocked_ns_, waited_ns_, FileComm::has_room() ? 0U : 1U, 0, 0};
  most[0] = static_cast<std::uint64_t>(close_alone());
  UntoldFailure untold(session_);
  most[5] = untold.job_output();
  most[0] = std::max(most[0], static_cast<std::uint64_t>(untold.code()));
  most[4] = publication && !target_->output ? 0U : 1U;
  // When a rank returns, all have closed the output: a process that opens the file then finds it complete, or waits for that.
  PMPI_Allreduce(MPI_IN_PLACE, most, 6, MPI_UINT64_T, MPI_MAX, comm_);
  if (most[0] == MPI_SUCCESS && most[4] == 0) most[0] = static_cast<std::uint64_t>(wait_for(*publication));
  file_comm_->ends(most[3] == 0 ? FileComm::End::spare : FileComm::End::freed);
  session_.read_back().add(target_->path, most[1], most[2], bytes);
  if (most[0] == MPI_SUCCESS) return;
  untold.told(most[5]);
  fail(static_cast<int>(most[0]));
}

int CapturedFile::wait_for(session::Publication& publication) {
  int code = MPI_SUCCESS;
  if (rank_ == 0) {
    const auto error = session::caught([&] { publication.wait(); });
    if (error) {
      base::log(base::LogLevel::error, "{}", error->what());
      code = error_class(error);
    }
  }
  PMPI_Bcast(&code, 1, MPI_INT, 0, comm_);
  if (code != MPI_SUCCESS) publication.told();
  return code;
}

int CapturedFile::close_alone() {
  alone_.close();
  const std::lock_guard lock(session_.one_at_a_time());
  const bool is_last = --target_->handles == 0;
  if (!target_->output) return MPI_ERR_IO;
  if (!is_last) return error_class(output().failure());
  const auto error = session::caught([&] { output().close(); });
  // In this order: either this rank finds the failure, or the drain finds that all ranks have closed the file, and keeps what it has.
  int code = error_class(output().failure());
  if (error && code == MPI_SUCCESS) code = said(*error);
  target_->output.reset();
  return code;
}

LeftOpen CapturedFile::close_at_the_end() {
  LeftOpen left{.path = target_->path};
  if (target_->output) {
    const std::lock_guard lock(session_.one_at_a_time());
    left.is_in_place = output().is_in_place();
    left.was_removed = !output().has_its_name();
    if (stat(output().working_path().c_str(), &left.file) != 0) left.file = {};
  }
  left.has_failed = close_alone() != MPI_SUCCESS;
  return left;
}

bool CapturedFile::is_told_here() const {
  int rank = 0;
  PMPI_Comm_rank(target_->comm ? target_->comm->get() : comm_, &rank);
  return rank == 0;
}

// --- size

void CapturedFile::flush() {
  const std::uint32_t collective_count = output().wait_for_ranks();
  const std::lock_guard lock(session_.one_at_a_time());
  output().flush(collective_count, output().has_others() ? session::ByteOutput::Then::read : session::ByteOutput::Then::other);
  output().keep_nothing();
}

std::uint32_t CapturedFile::wait_for_ranks() {
  try {
    return output().wait_for_ranks();
  } catch (const base::Error& error) {
    fail(said(error));
  }
}

void CapturedFile::settle() {
  if (!output().has_others()) return;
  if (const auto failed = session::caught([&] { flush(); })) fail(said(*failed));
}

void CapturedFile::set_size(MPI_File fh, MPI_Offset size) {
  if (size < 0) answer_is(PMPI_File_set_size(fh, size));
  if (output().is_at_stagers()) return resize_at_stagers(static_cast<Bytes>(size), Resize::any);
  int is_used = !output().is_in_place() || output().has_others() || target_->written || target_->handles > 1 ? 1 : 0;
  // Only where it still has its name, and replacing it leaves no trace.
  if (size == 0 && is_used == 0 && rank_ == 0 && (!output().has_its_name() || !output().can_be_replaced())) is_used = 1;
  PMPI_Allreduce(MPI_IN_PLACE, &is_used, 1, MPI_INT, MPI_MAX, comm_);
  // The program replaces what was there: that stays as long as the new one is not complete.
  if (size == 0 && is_used == 0) return start_over();
  const bool several_nodes = session_.is_on_several_nodes();
  std::uint64_t captured = output().captured_size();
  if (several_nodes) PMPI_Allreduce(MPI_IN_PLACE, &captured, 1, MPI_UINT64_T, MPI_MAX, comm_);
  struct {
    int code, cuts;
  } of_root{MPI_SUCCESS, 0};
  const auto resize = [&] {
    of_root.code = MPI_SUCCESS;
    const std::lock_guard lock(session_.one_at_a_time());
    const auto error = session::caught([&] { output().resize(static_cast<Bytes>(size)); });
    if (error) of_root.code = said(*error);
  };
  // No rank is waited for where bytes that are on their way stay: HDF5 sets the size whenever it closes a file.
  if (rank_ == 0) {
    of_root.cuts = static_cast<Bytes>(size) < captured ? 1 : 0;
    if (of_root.cuts == 0) resize();
  }
  PMPI_Bcast(&of_root, 2, MPI_INT, 0, comm_);
  if (of_root.cuts != 0) {
    agree(session::caught([&] { flush(); }));
    if (rank_ == 0) resize();
    PMPI_Bcast(&of_root, 2, MPI_INT, 0, comm_);
  }
  if (of_root.code != MPI_SUCCESS) fail(of_root.code);
  if (!several_nodes) return;
  output().was_resized(static_cast<Bytes>(size));
  static_cast<void>(Session::barrier(comm_));   // before any rank writes, and makes it longer
}

void CapturedFile::resize_at_stagers(Bytes size, Resize how) {
  std::uint64_t captured = output().captured_size();
  PMPI_Allreduce(MPI_IN_PLACE, &captured, 1, MPI_UINT64_T, MPI_MAX, comm_);
  const bool cuts = size < captured;
  if (cuts && how == Resize::longer) return;
  if (cuts && !output().awaits_cut()) agree(session::caught([&] { flush(); }));
  {
    const std::lock_guard lock(session_.one_at_a_time());
    if (const auto error = session::caught([&] { output().resize_at_stagers(size, cuts); })) fail(said(*error));   // the same on all ranks
  }
  static_cast<void>(Session::barrier(comm_));   // before any rank writes, and makes it longer
}

void CapturedFile::start_over() {
  alone_.close();
  const auto open = [&](session::ByteOutput::Existing existing) {
    return session::caught([&] {
      target_->output = session::ByteOutput::open(session_.core(), comm_, target_->path, existing, hints_.of_striping());
      if (target_->may_be_read) output().expect_reading();
    });
  };
  {
    const std::lock_guard lock(session_.one_at_a_time());
    output().close();
    target_->output.reset();
  }
  const auto error = open(session::ByteOutput::Existing::replace);
  if (!error) return;
  base::log(base::LogLevel::warning, "'{}' is written in place: {}", target_->path, error->what());
  if (const auto again = open(session::ByteOutput::Existing::keep)) fail(said(*again));   // on all ranks or none, as above
  std::optional<base::Error> failed;
  if (rank_ == 0) {
    const std::lock_guard lock(session_.one_at_a_time());
    failed = session::caught([&] { output().resize(0); });
  }
  agree(failed);
}

void CapturedFile::preallocate(MPI_File fh, MPI_Offset size) {
  if (size < 0) answer_is(PMPI_File_preallocate(fh, size));
  if (output().is_at_stagers()) return resize_at_stagers(static_cast<Bytes>(size), Resize::longer);
  static_cast<void>(Session::barrier(comm_));
  std::optional<base::Error> failed;
  if (rank_ == 0) {
    failed = session::caught([&] {
      const std::lock_guard lock(session_.one_at_a_time());
      if (size > 0) output().allocate(static_cast<Bytes>(size));
    });
  }
  agree(failed);
}

void CapturedFile::get_size(MPI_File /*fh*/, MPI_Offset* size) {
  const std::uint32_t collective_count = wait_for_ranks();
  *size = static_cast<MPI_Offset>(locked([&] { return output().size(collective_count); }));
}

void CapturedFile::sync(MPI_File /*fh*/) {
  const std::uint64_t writes = output().writes_made();
  agree(session::caught([&] {
    flush();
    const std::lock_guard lock(session_.one_at_a_time());
    output().synchronize();
  }));
  output().promise(writes);   // by each rank: so it is there before any returns
}

void CapturedFile::was_synchronized_aside() {
  if (target_->output) output().promise(output().writes_made());
}

// --- what is asked for

void CapturedFile::get_group(MPI_File /*fh*/, MPI_Group* group) { succeeded(PMPI_Comm_group(comm_, group)); }

void CapturedFile::get_amode(MPI_File /*fh*/, int* amode) { *amode = amode_; }

void CapturedFile::set_info(MPI_File /*fh*/, MPI_Info info) {
  succeeded_for_program(stand_in_.set_info(info));
  hints_.add(info);
}

void CapturedFile::get_info(MPI_File /*fh*/, MPI_Info* info) { succeeded_for_program(stand_in_.get_info(info)); }

void CapturedFile::get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent) {
  succeeded_for_program(PMPI_File_get_type_extent(fh, datatype, extent));
}

#if MPI_VERSION >= 4
void CapturedFile::get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) {
  succeeded_for_program(PMPI_File_get_type_extent_c(fh, datatype, extent));
}
#endif

// --- view and pointer

void CapturedFile::set_view(MPI_File /*fh*/, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                            MPI_Info info) {
  const CollectiveCall call = collective(CollectiveCall::Kind::write);
  std::optional<FlatType> flat;
  const auto unknown = session::caught([&] { flat.emplace(filetype); });
  // The program's handle keeps it, and refuses what cannot be.
  succeeded_for_program(stand_in_.set_view(disp, etype, filetype, flat ? &*flat : nullptr, datarep, info));
  if (std::strcmp(datarep, "native") != 0) {
    step_aside();
    return succeeded(PMPI_File_set_view(aside_.handle(), disp, etype, filetype, datarep, info));
  }
  view_.places.reset();
  ++view_.version;
  MPI_Count bytes = 0;
  PMPI_Type_size_x(etype, &bytes);
  view_.etype_bytes = std::max<Bytes>(1, static_cast<Bytes>(bytes));
  // Also one that would overlap if it were repeated, such as PnetCDF's.
  if (flat) view_.places.emplace(disp, *flat);
  if (unknown) base::log(base::LogLevel::warning, "'{}': {}: MPI writes what is written with this view", target_->path, unknown->what());
  hints_.add(info);
  position_ = 0;
  set_shared(0);
}

void CapturedFile::get_view(MPI_File /*fh*/, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep) {
  succeeded_for_program(PMPI_File_get_view(stand_in_.file_with_view(), disp, etype, filetype, datarep));
}

void CapturedFile::get_byte_offset(MPI_File /*fh*/, MPI_Offset offset, MPI_Offset* disp) {
  succeeded_for_program(PMPI_File_get_byte_offset(stand_in_.file_with_view(), offset, disp));
}

void CapturedFile::seek(MPI_File fh, MPI_Offset offset, int whence) {
  if (whence == MPI_SEEK_END) flush_to_read();
  const std::lock_guard lock(pointer_lock_);
  MPI_Offset position = offset;
  if (whence == MPI_SEEK_CUR) {
    position += position_;
  } else if (whence == MPI_SEEK_END) {
    position = offset_from_end(offset);
  } else if (whence != MPI_SEEK_SET) {
    answer_is(PMPI_File_seek(fh, offset, whence));
  }
  if (position < 0) answer_is(PMPI_File_seek(fh, position, MPI_SEEK_SET));
  position_ = position;
}

MPI_Offset CapturedFile::offset_from_end(MPI_Offset offset) {
  const MPI_File file = flushed_original();
  MPI_Offset position = 0;
  succeeded(PMPI_File_seek(file, offset, MPI_SEEK_END));
  succeeded(PMPI_File_get_position(file, &position));
  return position;
}

void CapturedFile::get_position(MPI_File /*fh*/, MPI_Offset* offset) {
  const std::lock_guard lock(pointer_lock_);
  *offset = position_;
}

void CapturedFile::move_to_end() {
  MPI_Offset end = 0;
  if (rank_ == 0) end = static_cast<MPI_Offset>(output().captured_size());
  PMPI_Bcast(&end, 1, MPI_OFFSET, 0, comm_);
  position_ = end;
  set_shared(end);
}

// --- stepping aside

void CapturedFile::set_atomicity(MPI_File /*fh*/, int flag) {
  if (flag == 0) return;
  step_aside();
  succeeded(PMPI_File_set_atomicity(aside_.handle(), flag));
}

void CapturedFile::get_atomicity(MPI_File /*fh*/, int* flag) { *flag = 0; }

void CapturedFile::step_aside() {
  check_is_here();
  const MPI_Offset shared = from(0, [&] { return shared_position(); });
  const bool has_second = locked([&] {
    target_->aside = true;   // no more handles are captured
    return target_->handles > 1;
  });
  agree(session::caught([&] {
    flush();
    // Beside a file that is open by the drain's descriptor, ROMIO could not make the one that it keeps its shared pointer in.
    if (!output().has_its_name()) throw base::Error(base::Errc::not_found, "'" + target_->path + "' was removed or renamed");
    // What is captured through those would come after what the MPI library writes later.
    if (has_second) static_cast<void>(session::ByteOutput::share_with_others(*session_.core(), target_->path));
  }));
  OriginalFile file;
  file.open(comm_, output().working_path(), amode_ & kinds_of_access, hints_);
  output().begin_change();
  file.take_view(stand_in_, view_.version);
  succeeded(PMPI_File_seek(file.handle(), position_, MPI_SEEK_SET));
  if (shared != 0) succeeded(PMPI_File_seek_shared(file.handle(), shared, MPI_SEEK_SET));
  aside_ = std::move(file);
}

}  // namespace glean::mpiio
