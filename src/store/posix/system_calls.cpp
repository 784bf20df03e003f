// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/system_calls.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace glean::store {

namespace {

template <class Result>
Result or_errno(Result result) {
  return result < 0 ? static_cast<Result>(-errno) : result;
}

}  // namespace

std::size_t bytes_of(std::span<const iovec> segments) {
  std::size_t bytes = 0;
  for (const iovec& segment : segments) bytes += segment.iov_len;
  return bytes;
}

int SystemCalls::open(const char* path, int flags, mode_t mode) { return or_errno(::open(path, flags, mode)); }

int SystemCalls::close(int descriptor) { return or_errno(::close(descriptor)); }

ssize_t SystemCalls::pwrite(int descriptor, const void* data, std::size_t size, off_t offset) {
  return result_of_write(descriptor, size, offset, or_errno(::pwrite(descriptor, data, size, offset)));
}

ssize_t SystemCalls::pwritev(int descriptor, std::span<const iovec> segments, off_t offset) {
  const ssize_t result = ::pwritev(descriptor, segments.data(), static_cast<int>(segments.size()), offset);
  return result_of_write(descriptor, bytes_of(segments), offset, or_errno(result));
}

ssize_t SystemCalls::pread(int descriptor, void* data, std::size_t size, off_t offset) {
  return or_errno(::pread(descriptor, data, size, offset));
}

int SystemCalls::will_need(int descriptor, off_t offset, off_t size) {
  return -posix_fadvise(descriptor, offset, size, POSIX_FADV_WILLNEED);
}

int SystemCalls::fsync(int descriptor) { return or_errno(::fsync(descriptor)); }

int SystemCalls::ftruncate(int descriptor, off_t size) { return or_errno(::ftruncate(descriptor, size)); }

int SystemCalls::allocate(int descriptor, off_t offset, off_t size) {
  return or_errno(::fallocate(descriptor, 0, offset, size));
}

int SystemCalls::punch_hole(int descriptor, off_t offset, off_t size) {
  return or_errno(::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size));
}

int SystemCalls::rename(const char* from, const char* to) { return or_errno(::rename(from, to)); }

// Where the file system cannot do it at once, a file that is killed in the middle has both names.
int SystemCalls::rename_new(const char* from, const char* to) {
  const int result = or_errno(::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE));
  if (result != -EINVAL && result != -ENOSYS && result != -EOPNOTSUPP) return result;
  const int linked = or_errno(::link(from, to));
  return linked == 0 ? unlink(from) : linked;
}

int SystemCalls::unlink(const char* path) { return or_errno(::unlink(path)); }

ssize_t SystemCalls::result_of_write(int, std::size_t, off_t, ssize_t result) { return result; }

}  // namespace glean::store
