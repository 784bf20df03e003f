// SPDX-License-Identifier: BSD-3-Clause
#include "storage.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "store/sums/sidecar.hpp"

namespace glean::fuzz {
namespace {

constexpr off_t file_max = 4 << 20;    // a file system's limit
constexpr int calls_max = 5000;        // then the disk is full

[[noreturn]] void stop(const char* what, const std::string& path) {
  std::fprintf(stderr, "%s: '%s'\n", what, path.c_str());
  std::abort();
}

}  // namespace

MemoryStorage::MemoryStorage(const std::vector<store::OutputDescription>& outputs, Bytes file_bytes, StorageFault fault)
    : fault_(fault) {
  for (const auto& output : outputs) {
    const auto& [working, final_path] = output.names;
    const std::string sidecar = store::sidecar_path(final_path);
    known_.insert({working, final_path, sidecar, sidecar + ".part"});
    directories_.insert(std::filesystem::path(final_path).parent_path().string());
    final_of_.emplace(working, final_path);
    const int file = files_[working] = memfd_create("glean-fuzz", MFD_CLOEXEC);
    const Bytes bytes = std::max(output.layout.header_bytes, file_bytes);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) stop("no memory for", working);
  }
}

MemoryStorage::~MemoryStorage() {
  for (const auto& [path, file] : files_) ::close(file);
}

bool MemoryStorage::has_published(const std::string& final_path) const {
  const std::lock_guard lock(mutex_);
  return published_.contains(final_path);
}

void MemoryStorage::expect_known(const std::string& path) const {
  if (!known_.contains(path)) stop("a file that belongs to no output", path);
}

int MemoryStorage::failure() {
  const std::lock_guard lock(mutex_);
  const int call = calls_++;
  if (call >= calls_max) return -ENOSPC;
  const bool fails = fault_.error != 0 && (fault_.lasting ? call >= fault_.after : call == fault_.after);
  return fails ? -fault_.error : 0;
}

int MemoryStorage::open(const char* path, int flags, mode_t) {
  if ((flags & O_DIRECT) != 0) return -EINVAL;
  const bool is_directory = (flags & O_DIRECTORY) != 0;
  if (is_directory && !directories_.contains(path)) stop("a directory that belongs to no output", path);
  if (!is_directory) expect_known(path);
  if (const int error = failure(); error != 0) return error;
  const std::lock_guard lock(mutex_);
  auto file = files_.find(path);
  if (file == files_.end()) {
    if (!is_directory && (flags & O_CREAT) == 0) return -ENOENT;
    file = files_.emplace(path, memfd_create("glean-fuzz", MFD_CLOEXEC)).first;
  }
  const int descriptor = fcntl(file->second, F_DUPFD_CLOEXEC, 0);
  return descriptor < 0 ? -errno : descriptor;
}

namespace {

bool is_inside(off_t offset, std::size_t size) {
  return offset >= 0 && offset <= file_max && size <= static_cast<std::size_t>(file_max - offset);
}

}  // namespace

ssize_t MemoryStorage::pwritev(int descriptor, std::span<const iovec> segments, off_t offset) {
  return is_inside(offset, store::bytes_of(segments)) ? SystemCalls::pwritev(descriptor, segments, offset) : -EFBIG;
}

ssize_t MemoryStorage::pwrite(int descriptor, const void* data, std::size_t size, off_t offset) {
  if (!is_inside(offset, size)) return -EFBIG;
  return SystemCalls::pwrite(descriptor, data, size, offset);
}

int MemoryStorage::fsync(int) { return failure(); }

int MemoryStorage::ftruncate(int descriptor, off_t size) {
  if (size < 0) stop("a length below 0", "");
  if (const int error = failure(); error != 0) return error;
  return size > file_max ? -EFBIG : SystemCalls::ftruncate(descriptor, size);
}

int MemoryStorage::allocate(int descriptor, off_t offset, off_t size) {
  if (offset < 0 || size <= 0) stop("room at a place that cannot be", "");
  if (const int error = failure(); error != 0) return error;
  if (offset > file_max || size > file_max - offset) return -ENOSPC;
  return SystemCalls::ftruncate(descriptor, offset + size);
}

int MemoryStorage::rename(const char* from, const char* to) {
  expect_known(from);
  expect_known(to);
  if (const int error = failure(); error != 0) return error;
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(from);
  if (file == files_.end()) return -ENOENT;
  if (const auto final_path = final_of_.find(from); final_path != final_of_.end()) {
    if (final_path->second != to) stop("published under the name of another", to);
    published_.insert(to);
  }
  const int descriptor = file->second;
  files_.erase(file);
  if (const auto replaced = files_.find(to); replaced != files_.end()) ::close(replaced->second);
  files_[to] = descriptor;
  return 0;
}

int MemoryStorage::unlink(const char* path) {
  expect_known(path);
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(path);
  if (file == files_.end()) return -ENOENT;
  ::close(file->second);
  files_.erase(file);
  return 0;
}

// What pwrite() returns, too.
ssize_t MemoryStorage::result_of_write(int, std::size_t, off_t, ssize_t result) {
  const int error = failure();
  return error != 0 ? error : result;
}

}  // namespace glean::fuzz
