// SPDX-License-Identifier: BSD-3-Clause
//
// What the program was told is safe: bytes that all ranks have synchronized (MPI_File_sync), and steps that wait(durable) has returned for.
// A file that is not complete is published with them, under its final name or, if a file is there, beside that (store/posix/unclosed.hpp):
//
// - A file of bytes that not all ranks have closed when they are gone gets all that was captured, and is published in this way.
// - Of an output that has failed, what is in the file then is kept. The header of a file with steps has said how many there are since they
//   were made durable; fixed variables may have what a later step has put, and have no fill values.
#include <unistd.h>

#include <exception>

#include "base/log.hpp"
#include "drain/output_drain.hpp"
#include "pool/epochs.hpp"
#include "pool/other_handles.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::drain {

// Both go by words that have no checksum: what cannot be was not promised.
bool OutputDrain::has_promised_bytes() const {
  const std::uint64_t promised = slot_.synchronized_writes.load(std::memory_order_acquire);
  return description_.is_bytes && promised != 0 && (pool_.is_shared() || promised <= pool::writes_begun(slot_) + 1);
}

// Of an output of several files none: they are joined as far as all have steps.
std::uint64_t OutputDrain::promised_steps() const {
  const std::uint64_t promised = slot_.synchronized_writes.load(std::memory_order_acquire);
  if (description_.is_bytes || description_.is_part || promised == 0) return 0;
  return promised - 1 <= slot_.steps_synchronized.load(std::memory_order_acquire) ? promised - 1 : 0;
}

bool OutputDrain::is_in_place() const {
  const bool has_final_name = file_ && pool::have_others(slot_) && file_->names().working_path == file_->names().final_path;
  return has_final_name || description_.names.working_path == description_.names.final_path;
}

bool OutputDrain::is_left_unclosed() const {
  if (ranks_ == Ranks::working || is_in_place() || !has_promised_bytes()) return false;
  if (pool_.is_shared()) return slot_.job_closed.load(std::memory_order_acquire) == 0;
  return !pool::ranks_of_output(pool_, key_.slot).all_closed;
}

// Without checksums: they would be beside the final name before it is known whether the file gets that.
void OutputDrain::publish_unclosed() {
  checksums_ = Checksums();
  file_->synchronize();
  forget_sums(calls_, store::publish_unclosed(calls_, file_->names()));
}

// Without the lock. False: there is nothing to keep.
bool OutputDrain::keep_promised() noexcept {
  if (superseded_ || dropped_ || removed_ || is_in_place() || (!has_promised_bytes() && promised_steps() == 0)) return false;
  store::FileNames names = description_.names;
  try {
    const std::uint64_t inode = slot_.working_inode.load(std::memory_order_acquire);
    if (file_) file_->follow_directory();
    if (file_) names = file_->names();
    if (file_ ? !file_->has_its_name() : access(names.working_path.c_str(), F_OK) != 0) {
      kept_as_ = store::find_unclosed(names.final_path, inode);   // the drain of another node was quicker; or the program has removed it
      return kept_as_.has_value();
    }
    slot_.publishing_inode.store(inode, std::memory_order_release);
    if (file_ && file_->is_trusted()) file_->synchronize();
    kept_as_ = store::publish_unclosed(calls_, names);
    forget_sums(calls_, *kept_as_);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::error, "'{}': {}", trace_.path, error.what());
    if (!kept_as_) kept_as_ = names.working_path;
  }
  return true;
}

// With the lock.
void OutputDrain::tell_of_unclosed(const std::optional<std::string>& path) {
  if (!path) return;
  trace_.unclosed_path = *path;
  trace_.note += (trace_.note.empty() ? "" : "; ") + std::string("synchronized: published as '") + *path + "'";
  if (ranks_ == Ranks::working) base::log(base::LogLevel::warning, "'{}' has failed; what was synchronized is in '{}'", trace_.path, *path);
}

}  // namespace glean::drain
