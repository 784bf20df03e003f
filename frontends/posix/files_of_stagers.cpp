// SPDX-License-Identifier: BSD-3-Clause
#include "files_of_stagers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "interposition.hpp"
#include "session/agreement.hpp"
#include "session/core.hpp"
#include "staging/remote_files.hpp"

namespace glean::posix {
namespace {

using staging::FileStatus;
using staging::RemoteFiles;

constexpr std::string_view memory = "/dev/shm/", copy_prefix = "glean-copy.";
constexpr std::size_t piece_bytes = 4 * base::MiB;
constexpr mode_t being_copied = 0600, complete = 0400;

// Asking opens files, too: those are not looked for at the stagers.
thread_local bool is_asking = false;

int errno_of(const base::Error& error) {
  switch (error.code()) {
    case base::Errc::not_found: return ENOENT;
    case base::Errc::permission: return EACCES;
    case base::Errc::exists: return EEXIST;
    case base::Errc::no_space: return ENOSPC;
    case base::Errc::timeout: return ETIMEDOUT;
    case base::Errc::invalid_argument: return EINVAL;
    case base::Errc::unsupported: return ENOTSUP;
    default: return EIO;
  }
}

std::string absolute_name(int directory, const char* path) {
  if (path[0] == '/' || directory == AT_FDCWD) return RemoteFiles::absolute(path);
  std::array<char, PATH_MAX> found{};
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", directory).c_str(), found.data(), found.size() - 1);
  return length < 0 ? std::string() : RemoteFiles::absolute(std::string(found.data()) + "/" + path);
}

// Calls what(files, name, interposition) if the name may be one of the stagers, and returns what that returns. False: errno is what it was,
// or says what went wrong.
template <class What>
bool ask(int directory, const char* path, What what) noexcept {
  const int failed_with = errno;
  if (is_asking || path == nullptr || *path == '\0' || (failed_with != ENOENT && failed_with != ENOTDIR)) return false;
  const Looking looking;
  Interposition* const in = looking.interposition();
  session::Core* const core = in == nullptr ? nullptr : in->core.load();
  RemoteFiles* const files = core == nullptr ? nullptr : core->files_of_stagers();
  if (files == nullptr) return false;
  is_asking = true;
  bool is_done = false;
  int now = failed_with;
  const auto error = session::caught([&] {
    const std::string name = absolute_name(directory, path);
    if (name.empty() || !files->may_have(name)) return;
    is_done = what(*files, name, *in);
    now = is_done ? 0 : errno;
  });
  is_asking = false;
  if (error) {
    now = errno_of(*error);
    // What is not there is an answer, as elsewhere.
    if (error->code() != base::Errc::not_found) base::log(base::LogLevel::warning, "'{}', at the stagers: {}", path, error->what());
  }
  errno = is_done ? failed_with : now;
  return is_done;
}

bool fails_with(int error) {
  errno = error;
  return false;
}

// What this session has closed under that name is waited for here: the stagers may not have heard yet that all ranks have closed it.
bool find(RemoteFiles& files, const std::string& name, Interposition& in, FileStatus& status) {
  const auto on_its_way = in.draining.of(in.draining.outputs().closed, pool::path_mark(name), pool::Draining::Names::files);
  if (on_its_way != 0) wait_for(in, on_its_way, {"open", name.c_str()});
  status = files.status(name, in.deadline_seconds);
  return status.kind != FileStatus::Kind::none || fails_with(ENOENT);
}

// Before a file of the stagers goes, what was closed before is there.
void wait_for_closed(Interposition& in, Told told) {
  if (const auto closed = in.draining.outputs().closed; closed != 0) wait_for(in, closed, told);
}

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

void check(bool holds, const std::string& what) {
  if (!holds) throw base::system_error(errno, what);
}

// Others wait at its lock meanwhile. Of a rank that is killed the next one goes on from the begin.
void copy(RemoteFiles& files, const FileStatus& from, int to) {
  struct statvfs space {};
  check(fstatvfs(to, &space) == 0, "cannot look at the free memory");
  const base::Bytes free = static_cast<base::Bytes>(space.f_bavail) * space.f_frsize;
  if (from.bytes > free / 2) {   // pools of other jobs need some
    throw base::Error(base::Errc::no_space, fmt::format("it has {} bytes, and is copied to {} to be read, where {} are free: at most "
                                                        "half of that is used", from.bytes, memory, free),
                      "run the program where the file system is mounted");
  }
  check(ftruncate(to, 0) == 0, "cannot make room for a copy");
  if (from.bytes != 0) {   // what is not there would be a signal later
    errno = posix_fallocate(to, 0, static_cast<off_t>(from.bytes));
    check(errno == 0, "cannot make room for a copy");
  }
  std::vector<std::byte> piece(std::min<std::size_t>(piece_bytes, from.bytes));
  for (base::Bytes done = 0; done < from.bytes;) {
    const std::size_t there = files.read(from, std::span(piece).first(std::min<std::size_t>(piece.size(), from.bytes - done)), done);
    if (there == 0) throw base::Error(base::Errc::io, "it becomes shorter while it is read");
    for (std::size_t written = 0; written < there;) {
      const ssize_t result = pwrite(to, piece.data() + written, there - written, static_cast<off_t>(done + written));
      check(result > 0 || (result < 0 && errno == EINTR), "cannot write a copy");
      written += result > 0 ? static_cast<std::size_t>(result) : 0;
    }
    done += there;
  }
  check(fchmod(to, complete) == 0, "cannot complete a copy");
}

// In memory that all users share another one may have made a file of that name, to be taken for the copy.
void require_own(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode) && status.st_uid == geteuid()) return;
  throw base::Error(base::Errc::permission, "'" + path + "' is another user's", "it was made to be read in place of the file");
}

bool is_complete(const struct stat& status) { return (status.st_mode & 0777) == complete; }

// What it takes is free again when it fails.
void copy_or_nothing(RemoteFiles& files, const FileStatus& from, int to) {
  try {
    copy(files, from, to);
  } catch (...) {
    if (ftruncate(to, 0) != 0) base::log(base::LogLevel::warning, "a copy of '{}' that failed stays in memory", from.path);
    throw;
  }
}

}  // namespace

bool found_there(int directory, const char* path, struct stat& status) noexcept {
  return ask(directory, path, [&](RemoteFiles& files, const std::string& name, Interposition& in) {
    FileStatus found;
    if (!find(files, name, in, found)) return false;
    status = {};
    status.st_mode = found.mode;
    status.st_size = static_cast<off_t>(found.bytes);
    status.st_ino = found.inode;
    status.st_nlink = 1;
    status.st_uid = geteuid();
    status.st_gid = getegid();
    status.st_blksize = 4096;
    status.st_blocks = static_cast<blkcnt_t>((found.bytes + 511) / 512);
    status.st_mtim = status.st_ctim = status.st_atim = {.tv_sec = found.modified_seconds, .tv_nsec = found.modified_nanoseconds};
    return true;
  });
}

bool may_access_there(int directory, const char* path, int mode) noexcept {
  return ask(directory, path, [&](RemoteFiles& files, const std::string& name, Interposition& in) {
    FileStatus found;
    if (!find(files, name, in, found)) return false;
    const bool is_readable = (found.mode & (S_IRUSR | S_IRGRP | S_IROTH)) != 0;
    if ((mode & R_OK) != 0 && !is_readable) return fails_with(EACCES);
    // Nothing is written or run by these names.
    return (mode & (W_OK | X_OK)) == 0 || found.kind == FileStatus::Kind::directory || fails_with((mode & W_OK) != 0 ? EROFS : EACCES);
  });
}

std::string brought_here(int directory, const char* path) noexcept {
  std::string copy_path;
  const bool is_here = ask(directory, path, [&](RemoteFiles& files, const std::string& name, Interposition& in) {
    FileStatus found;
    if (!find(files, name, in, found)) return false;
    if (found.kind == FileStatus::Kind::directory) return fails_with(ENOENT);   // opened, it would be listed
    if (found.kind != FileStatus::Kind::file) return fails_with(ENXIO);
    copy_path = fmt::format("{}{}{}.{:x}.{}.{}.{}", memory, copy_prefix, in.draining.pool().name().substr(1),
                            std::hash<std::string>{}(found.path), found.inode, found.modified_seconds, found.modified_nanoseconds);
    struct stat status {};
    const Descriptor made(open(copy_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, being_copied));
    if (made.number < 0 && errno == EACCES) {   // complete: it can only be read
      check(lstat(copy_path.c_str(), &status) == 0, "cannot look at '" + copy_path + "'");
      require_own(status, copy_path);
      return is_complete(status) || fails_with(EACCES);
    }
    check(made.number >= 0, "cannot make '" + copy_path + "'");
    check(fstat(made.number, &status) == 0, "cannot look at '" + copy_path + "'");
    require_own(status, copy_path);   // others' locks are not waited for
    while (flock(made.number, LOCK_EX) != 0) check(errno == EINTR, "cannot lock '" + copy_path + "'");
    check(fstat(made.number, &status) == 0, "cannot look at '" + copy_path + "'");
    if (!is_complete(status)) copy_or_nothing(files, found, made.number);
    return true;
  });
  return is_here ? copy_path : std::string();
}

int open_there(int directory, const char* path, int flags) noexcept {
  if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_DIRECTORY | O_PATH)) == O_RDONLY) {
    const std::string copy_path = brought_here(directory, path);
    return copy_path.empty() ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, copy_path.c_str(), flags & ~(O_NOFOLLOW | O_DIRECT), 0));
  }
  // Fortran then opens it to read.
  struct stat there {};
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && found_there(directory, path, there) && S_ISREG(there.st_mode)) errno = EROFS;
  return -1;
}

void copy_status(const struct stat& from, struct stat* to) noexcept { *to = from; }
void copy_status(const struct stat& from, struct stat64* to) noexcept {
  static_assert(sizeof(struct stat) == sizeof(struct stat64));
  std::memcpy(to, &from, sizeof from);
}
void copy_status(const struct stat& from, struct statx* to) noexcept {
  *to = {};
  to->stx_mask = STATX_BASIC_STATS;
  to->stx_mode = static_cast<std::uint16_t>(from.st_mode);
  to->stx_size = static_cast<std::uint64_t>(from.st_size);
  to->stx_blocks = static_cast<std::uint64_t>(from.st_blocks);
  to->stx_blksize = static_cast<std::uint32_t>(from.st_blksize);
  to->stx_ino = from.st_ino;
  to->stx_nlink = static_cast<std::uint32_t>(from.st_nlink);
  to->stx_uid = from.st_uid;
  to->stx_gid = from.st_gid;
  to->stx_mtime = {.tv_sec = from.st_mtim.tv_sec, .tv_nsec = static_cast<std::uint32_t>(from.st_mtim.tv_nsec), .__reserved = 0};
  to->stx_atime = to->stx_ctime = to->stx_mtime;
}

bool removed_there(const char* call, int directory, const char* path) noexcept {
  return ask(directory, path, [&](RemoteFiles& files, const std::string& name, Interposition& in) {
    FileStatus found;
    if (!find(files, name, in, found)) return false;
    if (found.kind == FileStatus::Kind::directory) return fails_with(EISDIR);
    wait_for_closed(in, {call, path});
    files.remove(name, in.deadline_seconds);
    return true;
  });
}

bool renamed_there(const char* call, int from_directory, const char* from, int to_directory, const char* to) noexcept {
  if (to == nullptr) return false;
  return ask(from_directory, from, [&](RemoteFiles& files, const std::string& name, Interposition& in) {
    FileStatus found;
    if (!find(files, name, in, found)) return false;
    const std::string new_name = absolute_name(to_directory, to);
    if (new_name.empty() || !files.may_have(new_name)) return fails_with(EXDEV);
    wait_for_closed(in, {call, from});
    files.rename(name, new_name, in.deadline_seconds);
    return true;
  });
}

void remove_copies(const std::string& own) noexcept {
  const int error = errno;
  const auto failed = session::caught([&] {
    for (const auto& entry : std::filesystem::directory_iterator(memory)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(copy_prefix)) continue;
      // PREFIX.glean.UID.PID.TIME.HASH.INODE.SECONDS.NANOSECONDS
      std::size_t end = copy_prefix.size();
      for (int dots = 0; dots < 4 && end != name.npos; ++dots) end = name.find('.', end + 1);
      const std::string pool = end == name.npos ? "" : name.substr(copy_prefix.size(), end - copy_prefix.size());
      const bool is_over = pool == own || access((std::string(memory) + pool).c_str(), F_OK) != 0;
      if (!pool.empty() && is_over) unlink(entry.path().c_str());
    }
  });
  static_cast<void>(failed);   // they stay until another session comes
  errno = error;
}

}  // namespace glean::posix
