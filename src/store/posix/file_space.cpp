// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/file_space.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace glean::store {

base::Bytes longest_of_process() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return longest_offset;
  return std::min<base::Bytes>(limit.rlim_cur, longest_offset);
}

// lseek() of Linux refuses what lies behind the longest file.
base::Bytes longest_of_file_system(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return longest_offset;
  const auto is_possible = [&](base::Bytes size) { return lseek(file, static_cast<off_t>(size), SEEK_SET) >= 0; };
  base::Bytes possible = always_possible, last = longest_offset;
  while (possible < last) {
    const base::Bytes middle = last - (last - possible) / 2;
    if (is_possible(middle)) possible = middle;
    else last = middle - 1;
  }
  ::close(file);
  return possible;
}

int allocate_storage(int file, base::Bytes size) {
  struct stat status {};
  struct statvfs storage {};
  if (fstat(file, &status) != 0 || fstatvfs(file, &storage) != 0) return errno;
  constexpr base::Bytes block_bytes = 512;   // of st_blocks
  const base::Bytes there = static_cast<base::Bytes>(status.st_blocks) * block_bytes;
  const bool is_known = storage.f_frsize != 0;   // not everywhere
  if (is_known && size > there && (size - there) / storage.f_frsize > storage.f_bavail) return ENOSPC;
  int result = 0;
  do result = fallocate(file, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

}  // namespace glean::store
