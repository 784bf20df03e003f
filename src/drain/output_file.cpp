// SPDX-License-Identifier: BSD-3-Clause
#include "drain/output_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "pool/futex.hpp"
#include "pool/name_log.hpp"
#include "pool/other_handles.hpp"
#include "pool/published.hpp"
#include "store/format/cdf/header.hpp"
#include "store/format/new_file.hpp"
#include "store/parts/part_index.hpp"
#include "store/posix/unclosed.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::drain {
namespace {

// Modified later: by another job, since publishing keeps the time of the last write.
bool is_newer(const std::string& path, const std::string& than) {
  struct stat first {}, second {};
  if (stat(path.c_str(), &first) != 0 || stat(than.c_str(), &second) != 0 || first.st_ino == second.st_ino) return false;
  return std::pair(first.st_mtim.tv_sec, first.st_mtim.tv_nsec) > std::pair(second.st_mtim.tv_sec, second.st_mtim.tv_nsec);
}

}  // namespace

void OutputFile::follow_new_name() {
  // Another node may have removed the file already.
  is_removed_ = output_.slot.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output;
  const auto now = pool::new_name_of(output_.pool, output_.key);
  if (!now) return;
  is_removed_ = now->is_removed;
  store::FileNames& names = output_.description.names;
  if (!now->final_path.empty()) {
    // A drain before this one may have prepared checksums for the name that it had.
    const bool may_be_prepared = output_.inherited && output_.description.checksums && output_.publishes();
    if (may_be_prepared && names.final_path != now->final_path) store::remove_prepared_sidecar(output_.calls, names.final_path);
    names.final_path = now->final_path;
  }
  if (!now->working_path.empty()) names.working_path = now->working_path;
}

std::optional<base::Error> OutputFile::open(bool shared, bool is_retried, bool is_unclosed) {
  if (output_.is_elsewhere()) return std::nullopt;
  const pool::OutputSlot& slot = output_.slot;
  store::FileNames names = output_.description.names;
  const std::uint64_t inode = slot.publishing_inode.load(std::memory_order_acquire);
  struct stat status {};
  const bool is_renamed = inode != 0 && stat(names.working_path.c_str(), &status) != 0 && errno == ENOENT;
  const bool may_be_late = output_.ranks == Ranks::gone || is_retried;
  if (const auto published = is_renamed ? store::find_unclosed(names.final_path, inode) : std::nullopt) {
    // Perhaps not for good.
    names.working_path = names.final_path = *published;
    was_published_ = true;
  } else if (may_be_late && !is_unclosed && is_newer(names.final_path, names.working_path)) {
    is_superseded_ = true;
    const char* const since = output_.ranks == Ranks::gone ? "the job had ended" : "it was closed";
    return base::Error(base::Errc::exists, "a newer '" + names.final_path + "' was written after " + since);
  }
  const bool may_be_anothers = names.working_path == names.final_path;
  if (is_to_be_made(inode)) store::make_new_file(output_.calls, names, output_.description.metadata);
  file_ = std::make_unique<store::File>(output_.calls, std::move(names), output_.description.direct_io);
  const std::uint64_t before = slot.working_inode.load(std::memory_order_acquire);
  if (may_be_anothers && before != 0 && before != file_->inode()) {
    file_.reset();
    return base::Error(base::Errc::not_found, "'" + output_.trace.path + "' was removed or renamed, and another file has its name");
  }
  if (shared) file_->share();
  tell_slot();
  return std::nullopt;
}

void OutputFile::tell_slot() {
  pool::OutputSlot& slot = output_.slot;
  slot.working_device.store(file_->device(), std::memory_order_relaxed);
  const auto descriptor = static_cast<std::uint32_t>(file_->buffered_descriptor());
  slot.working_descriptor.store(static_cast<std::uint64_t>(getpid()) << 32 | descriptor, std::memory_order_relaxed);
  pool::note_written_file(output_.pool, file_->device(), file_->inode());
  slot.working_inode.store(file_->inode(), std::memory_order_release);   // last: Draining::wait_until_opened() looks at it
  // A rank waits for it.
  if (output_.nodes != nullptr || !output_.description.is_bytes) pool::futex_signal(output_.pool.header().progress);
}

// Some raw outputs are made by the rank that opens them, and one that is added to was there before.
bool OutputFile::is_to_be_made(std::uint64_t publishing_inode) const {
  const pool::OutputSlot& slot = output_.slot;
  const bool is_untouched = slot.working_inode.load(std::memory_order_acquire) == 0 && publishing_inode == 0 &&
                            output_.steps.written == 0 && slot.steps.highest_end.load(std::memory_order_acquire) == 0;
  return is_untouched && output_.publishes() && !output_.description.is_made_by_ranks() && !output_.description.adds_to_file();
}

bool OutputFile::is_in_place() const {
  const auto is_one_name = [](const store::FileNames& names) { return names.working_path == names.final_path; };
  return (file_ && pool::have_others(output_.slot) && is_one_name(file_->names())) || is_one_name(output_.description.names);
}

void OutputFile::publish_unclosed() {
  output_.checksums = Checksums();
  file_->synchronize();
  forget_sums(output_.calls, store::publish_unclosed(output_.calls, file_->names()));
}

void OutputFile::published() {
  if (!is_unclosed_ || is_removed_) return;
  tell_of_unclosed(store::find_unclosed(output_.description.names.final_path, output_.slot.working_inode.load()));
}

// Without the lock. False: there is nothing to keep.
bool OutputFile::keep() noexcept {
  if (is_superseded_ || is_removed_ || is_in_place()) return false;
  pool::OutputSlot& slot = output_.slot;
  store::FileNames names = output_.description.names;
  try {
    const std::uint64_t inode = slot.working_inode.load(std::memory_order_acquire);
    if (file_) file_->follow_directory();
    if (file_) names = file_->names();
    if (file_ ? !file_->has_its_name() : access(names.working_path.c_str(), F_OK) != 0) {
      kept_as_ = store::find_unclosed(names.final_path, inode);   // the drain of another node was quicker; or the program has removed it
      return kept_as_.has_value();
    }
    slot.publishing_inode.store(inode, std::memory_order_release);
    if (file_ && file_->is_trusted()) file_->synchronize();
    kept_as_ = store::publish_unclosed(output_.calls, names);
    forget_sums(output_.calls, *kept_as_);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::error, "'{}': {}", output_.trace.path, error.what());
    if (!kept_as_) kept_as_ = names.working_path;
  }
  return true;
}

// Of a file that was added to: behind what its header counts.
void OutputFile::cut_additions() noexcept {
  try {
    const store::InputFile input(output_.calls, output_.description.names.final_path);
    const store::CdfHeader header = store::read_cdf_header(input);
    const Bytes counted = store::bytes_of_records(header, header.records);
    if (input.bytes() > counted && file_->is_trusted()) file_->resize(counted);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::debug, "'{}' keeps what no reader sees: {}", output_.trace.path, error.what());
  }
}

void OutputFile::discard(bool was_promised) noexcept {
  if (output_.is_elsewhere()) return;
  if (output_.description.adds_to_file()) {
    if (file_) cut_additions();
    return;
  }
  if (was_promised && keep()) return;
  const store::OutputDescription& description = output_.description;
  const store::FileNames& names = description.names;
  if (file_) file_->discard();
  else if (names.working_path != names.final_path) output_.calls.unlink(names.working_path.c_str());
  if (description.is_part) store::discard_index(output_.calls, names);
  if (output_.inherited && description.checksums) store::remove_prepared_sidecar(output_.calls, names.final_path);
}

void OutputFile::discarded() {
  output_.slot.working_descriptor.store(0, std::memory_order_release);
  file_.reset();
  tell_of_unclosed(kept_as_);
}

void OutputFile::tell_of_unclosed(const std::optional<std::string>& path) {
  if (!path) return;
  OutputTrace& trace = output_.trace;
  trace.unclosed_path = *path;
  trace.note += (trace.note.empty() ? "" : "; ") + std::string("synchronized: published as '") + *path + "'";
  if (output_.ranks == Ranks::gone) return;
  base::log(base::LogLevel::warning, "'{}' has failed; what was synchronized is in '{}'", trace.path, *path);
}

// What has been written so far is no newer (is_newer).
void OutputFile::leave() {
  if (file_) futimens(file_->buffered_descriptor(), nullptr);
}

}  // namespace glean::drain
