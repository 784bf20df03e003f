// SPDX-License-Identifier: BSD-3-Clause
//
// What is asked about raw outputs before something is done to them.
#include <mpi.h>

#include "base/log.hpp"
#include "drain/checksums.hpp"
#include "pool/published.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/core.hpp"
#include "staging/remote_files.hpp"
#include "store/posix/file.hpp"
#include "store/posix/replaceable.hpp"

namespace glean::session {
namespace {

ByteOutput::UntoldFailure failure_of(const Core& core, std::uint32_t index) {
  const pool::OutputSlot& slot = core.pool().slot(index);
  const std::uint32_t error = slot.error.load(std::memory_order_acquire);
  return {index, error == 0 ? base::Errc::io : static_cast<base::Errc>(error - 1), slot.nodes.job_output.load()};
}

}  // namespace

bool ByteOutput::can_capture(const Core& core, MPI_Comm comm) {
  int between_groups = 0;
  MPI_Comm_test_inter(comm, &between_groups);
  return between_groups == 0 && core.has_pool() && core.parts().count == 1 && are_in_session(core, comm);
}

bool ByteOutput::may_be_at_stagers(const Core& core, const std::string& path) {
  staging::RemoteFiles* const files = core.files_of_stagers();
  return files != nullptr && files->may_have(path);
}

bool ByteOutput::exists_at_stagers(Core& core, const std::string& path) {
  const std::string name = staging::RemoteFiles::absolute(path);
  wait_until(core, [&] {
    const auto found = find_output(core.pool(), name);
    return !found || !found->is_closed;
  }, "'" + path + "'");
  return core.files_of_stagers()->status(name, core.deadline_seconds()).kind != staging::FileStatus::Kind::none;
}

bool ByteOutput::is_open_at_stagers(const Core& core, const std::string& path) {
  if (core.files_of_stagers() == nullptr) return false;
  const auto found = find_output(core.pool(), staging::RemoteFiles::absolute(path));
  return found && !found->is_closed && core.pool().slot(found->key.slot).is_made_by_stagers.load(std::memory_order_acquire) != 0;
}

bool ByteOutput::are_on_all_nodes(const Core& core, MPI_Comm comm) {
  int nodes = members_of(core, comm).leads ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, comm);
  return nodes == core.nodes().count();
}

std::optional<ByteOutput::UntoldFailure> ByteOutput::untold_failure(const Core& core) {
  const std::uint32_t index = pool::untold_failure(core.pool());
  return index == pool::output_slots ? std::nullopt : std::optional(failure_of(core, index));
}

void ByteOutput::told(const Core& core, const UntoldFailure& failure) {
  if (failure.job_output == 0) return core.pool().slot(failure.slot).told.store(1);
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    pool::OutputSlot& slot = core.pool().slot(index);
    if (is_open(slot) && slot.nodes.job_output.load() == failure.job_output) slot.told.store(1);
  }
}

std::optional<ByteOutput::UntoldFailure> ByteOutput::finish_or_refuse(Core& core, const std::string& path) {
  finish(core, path);
  if (!pool::any_is_kept(core.pool())) return std::nullopt;
  const std::string final_path = store::resolved_path(path);
  auto kept = find_output(core.pool(), final_path, Unfinished::kept);
  if (kept && !core.pool().is_shared()) {
    pool::try_again(core.pool());
    finish(core, path);
    kept = find_output(core.pool(), final_path, Unfinished::kept);
  }
  if (!kept) return std::nullopt;
  const pool::OutputSlot& slot = core.pool().slot(kept->key.slot);
  base::log(base::LogLevel::error, "'{}' cannot be opened: what was written to it and closed before is kept in memory, since the storage "
            "refuses it: {}", path, pool::message_of(slot));
  const auto failure = failure_of(core, kept->key.slot);
  const bool was_told = slot.told.load() != 0;
  told(core, failure);
  // Each such error tells one, so that what the program removes then can go (pool::Draining::closed_before).
  const auto another = was_told && !core.pool().is_shared() ? untold_failure(core) : std::nullopt;
  if (another) told(core, *another);
  return failure;
}

void ByteOutput::forget_checksums(const std::string& path) {
  store::SystemCalls calls;
  drain::forget_sums(calls, path);
}

bool ByteOutput::can_be_replaced() const {
  const base::OutputSettings settings = core_->settings().for_output(path_);
  if (settings.replace == base::Replace::in_place || settings.publish == base::Publish::in_place) return false;
  std::optional<std::string> why;
  const auto failed = caught([&] { why = store::why_written_in_place(path_); });   // the directory is gone
  if (why) core_->warn_in_place(path_, *why);
  return !failed && !why;
}

bool ByteOutput::may_change_file() const {
  return !is_in_place_ || pool::what_is_before(core_->pool(), key_.slot) == pool::Before::durable;
}

}  // namespace glean::session
