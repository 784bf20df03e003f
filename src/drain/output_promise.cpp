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
  const std::uint64_t promised = output_.slot.synchronized_writes.load(std::memory_order_acquire);
  return output_.description.is_bytes && promised != 0 && (nodes_ || promised <= pool::writes_begun(output_.slot) + 1);
}

// Of an output of several files none: they are joined as far as all have steps.
std::uint64_t OutputDrain::promised_steps() const {
  const std::uint64_t promised = output_.slot.synchronized_writes.load(std::memory_order_acquire);
  if (output_.description.is_bytes || output_.description.is_part || promised == 0) return 0;
  return promised - 1 <= output_.slot.steps_synchronized.load(std::memory_order_acquire) ? promised - 1 : 0;
}

bool OutputDrain::is_in_place() const {
  const bool has_final_name = file_ && pool::have_others(output_.slot) && file_->names().working_path == file_->names().final_path;
  return has_final_name || output_.description.names.working_path == output_.description.names.final_path;
}

bool OutputDrain::is_left_unclosed() const {
  if (output_.ranks == Ranks::working || is_in_place() || !has_promised_bytes()) return false;
  if (nodes_) return !nodes_->have_all_closed();
  return !pool::ranks_of_output(output_.pool, output_.key.slot).all_closed;
}

// Without checksums: they would be beside the final name before it is known whether the file gets that.
void OutputDrain::publish_unclosed() {
  output_.checksums = Checksums();
  file_->synchronize();
  forget_sums(output_.calls, store::publish_unclosed(output_.calls, file_->names()));
}

// Without the lock. False: there is nothing to keep.
bool OutputDrain::keep_promised() noexcept {
  if (superseded_ || dropped_ || removed_ || is_in_place() || (!has_promised_bytes() && promised_steps() == 0)) return false;
  store::FileNames names = output_.description.names;
  try {
    const std::uint64_t inode = output_.slot.working_inode.load(std::memory_order_acquire);
    if (file_) file_->follow_directory();
    if (file_) names = file_->names();
    if (file_ ? !file_->has_its_name() : access(names.working_path.c_str(), F_OK) != 0) {
      kept_as_ = store::find_unclosed(names.final_path, inode);   // the drain of another node was quicker; or the program has removed it
      return kept_as_.has_value();
    }
    output_.slot.publishing_inode.store(inode, std::memory_order_release);
    if (file_ && file_->is_trusted()) file_->synchronize();
    kept_as_ = store::publish_unclosed(output_.calls, names);
    forget_sums(output_.calls, *kept_as_);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::error, "'{}': {}", output_.trace.path, error.what());
    if (!kept_as_) kept_as_ = names.working_path;
  }
  return true;
}

// With the lock.
void OutputDrain::tell_of_unclosed(const std::optional<std::string>& path) {
  if (!path) return;
  output_.trace.unclosed_path = *path;
  output_.trace.note += (output_.trace.note.empty() ? "" : "; ") + std::string("synchronized: published as '") + *path + "'";
  if (output_.ranks == Ranks::gone) return;
  base::log(base::LogLevel::warning, "'{}' has failed; what was synchronized is in '{}'", output_.trace.path, *path);
}

}  // namespace glean::drain
