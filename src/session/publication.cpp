// SPDX-License-Identifier: BSD-3-Clause
#include "session/publication.hpp"

#include <sys/stat.h>

#include <tuple>
#include <utility>

#include "session/byte_opening.hpp"
#include "session/core.hpp"
#include "session/replaced.hpp"
#include "store/posix/file.hpp"

namespace glean::session {

Publication::Publication(Core& core, std::uint32_t slot, std::string path)
    : core_(core), key_{slot, core.pool().slot(slot).generation.load(std::memory_order_acquire)}, path_(std::move(path)),
      final_path_(store::resolved_path(path_)) {}

void Publication::throw_failure() const {
  pool::OutputSlot& slot = core_.pool().slot(key_.slot);
  const std::uint32_t error = slot.error.load(std::memory_order_acquire);
  const std::string text = "'" + path_ + "' cannot be completed: " + slot.message.data(), hint = slot.hint.data();
  if (error == 0 || slot.generation.load(std::memory_order_acquire) != key_.generation) return;
  slot.told = 1;   // the call returns it
  throw base::Error(static_cast<base::Errc>(error - 1), text, hint);
}

void Publication::told() const {
  pool::OutputSlot& slot = core_.pool().slot(key_.slot);
  const bool is_it = slot.generation.load(std::memory_order_acquire) == key_.generation;
  if (is_it && slot.state.load(std::memory_order_acquire) == pool::OutputState::open) slot.told = 1;
}

bool Publication::is_over() {
  const pool::OutputSlot& slot = core_.pool().slot(key_.slot);
  const auto inode = slot.working_inode.load(std::memory_order_acquire);
  const auto device = slot.working_device.load(std::memory_order_relaxed);
  const auto state = slot.state.load(std::memory_order_acquire);
  throw_failure();
  if (slot.generation.load(std::memory_order_acquire) != key_.generation) return true;
  if (inode != 0) std::tie(inode_, device_) = std::pair(inode, device);
  is_known_ = state != pool::OutputState::open;
  return is_known_;
}

void Publication::wait() {
  wait_until(core_, [&] { return is_over(); }, "'" + path_ + "'");
  if (is_known_) return;
  // Another output has taken the slot: the file itself tells, unless it has been removed or replaced since.
  struct stat status {};
  const bool is_there = stat(final_path_.c_str(), &status) == 0 && status.st_ino == inode_ && status.st_dev == device_;
  if (is_there || replaced_by(core_, final_path_)) return;
  throw base::Error(base::Errc::io, "'" + path_ + "' may not have been completed: the log says why if it failed");
}

}  // namespace glean::session
