// SPDX-License-Identifier: BSD-3-Clause
//
// The system calls that storing uses, as an interface, so that a test can fail any of them.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace glean::store {

[[nodiscard]] std::size_t bytes_of(std::span<const iovec> segments);

// Each returns what the system call returns, or -errno.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int open(const char* path, int flags, mode_t mode);
  virtual int close(int descriptor);
  virtual ssize_t pwrite(int descriptor, const void* data, std::size_t size, off_t offset);
  // Of less than 2 GiB.
  virtual ssize_t pwritev(int descriptor, std::span<const iovec> segments, off_t offset);
  virtual ssize_t pread(int descriptor, void* data, std::size_t size, off_t offset);
  // posix_fadvise(), POSIX_FADV_WILLNEED.
  virtual int will_need(int descriptor, off_t offset, off_t size);
  virtual int fsync(int descriptor);
  virtual int ftruncate(int descriptor, off_t size);
  // Allocates [offset, offset + size) and makes the file that long.
  virtual int allocate(int descriptor, off_t offset, off_t size);
  // Gives [offset, offset + size) of the file back to the file system.
  virtual int punch_hole(int descriptor, off_t offset, off_t size);
  virtual int rename(const char* from, const char* to);
  // As rename(), but -EEXIST where there is something of the name `to`, which stays.
  virtual int rename_new(const char* from, const char* to);
  virtual int unlink(const char* path);

  // Sees the result of every write, synchronous or not, before the writer does, and returns the one to use:
  // where a test lets writes fail or fall short. Returns `result`.
  virtual ssize_t result_of_write(int descriptor, std::size_t size, off_t offset, ssize_t result);
};

}  // namespace glean::store
