// SPDX-License-Identifier: BSD-3-Clause
#include "session/writer_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace glean::session {
namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Of an open file and not of a process: the drain opens and closes the same file, and would take the other kind away with that.
bool is_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock lock = whole_file();
  const bool locked = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(descriptor);
  return locked;
}

}  // namespace

WriterLock::WriterLock(const std::string& working_path, const std::string& path)
    : descriptor_(::open(working_path.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) return;
  struct flock lock = whole_file();
  if (fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) return;
  // Only now: of two that begin at the same time at least one sees the other.
  const std::filesystem::path mine(working_path);
  const std::string name = mine.filename().string(), common = name.substr(0, name.rfind(".glean-") + std::string_view(".glean-").size());
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(mine.parent_path(), ignored), end; !ignored && at != end; at.increment(ignored)) {
    const std::string other = at->path().filename().string();
    if (other == name || !other.starts_with(common) || !other.ends_with(".part") || !is_locked(at->path().string())) continue;
    ::close(std::exchange(descriptor_, -1));
    throw base::Error(base::Errc::invalid_state, "'" + path + "' is being written by another job, or by a session of this one",
                      "wait until that is over, or choose another name");
  }
}

WriterLock::~WriterLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

WriterLock::WriterLock(WriterLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace glean::session
