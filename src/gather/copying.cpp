// SPDX-License-Identifier: BSD-3-Clause
#include "gather/copying.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <span>
#include <vector>

#include "base/clock.hpp"

namespace glean::gather {
namespace {

using base::Bytes;

bool write_all(int descriptor, std::span<const std::byte> bytes, Bytes at) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno != EINTR) return false;
    if (written <= 0) continue;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += static_cast<Bytes>(written);
  }
  return true;
}

bool copy(const store::TaskReader& reader, const store::LogicalFile& file, int descriptor) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<Bytes>(store::container_piece_bytes, file.bytes)));
  if (ftruncate(descriptor, static_cast<off_t>(file.bytes)) != 0) return false;
  for (Bytes at = 0; at < file.bytes;) {
    const auto part = std::span(buffer).first(static_cast<std::size_t>(std::min<Bytes>(buffer.size(), file.bytes - at)));
    if (!reader.is_hole(file.begin + at, part.size())) {
      if (reader.read(part, file.begin + at) != part.size()) return errno = EIO, false;
      if (!write_all(descriptor, part, at)) return false;
    }
    at += part.size();
  }
  return true;
}

}  // namespace

bool copy_out(const store::Container& container, const store::LogicalFile& file, const std::string& path, timespec time) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  bool is_whole = false;
  try {
    is_whole = copy(container.reader(container.task(file.rank)), file, descriptor);
  } catch (const std::exception&) {
    errno = EIO;
  }
  const std::array<timespec, 2> times{time, time};
  if (is_whole) futimens(descriptor, times.data());
  const int error = errno;
  close(descriptor);
  if (!is_whole) unlink(path.c_str());
  errno = error;
  return is_whole;
}

int copy_to(const std::string& from, const std::string& to) {
  const std::size_t slash = to.rfind('/') + 1;
  const std::string working = fmt::format("{}.{}.glean-{}-{}.part", to.substr(0, slash), to.substr(slash), getpid(), base::now_ns());
  const int input = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (input < 0) return errno;
  struct stat status {};
  fstat(input, &status);
  const int output = open(working.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 07777);
  if (output < 0) {
    const int error = errno;
    close(input);
    return error;
  }
  const Bytes piece = std::min<Bytes>(store::container_piece_bytes, static_cast<Bytes>(status.st_size) + 1);
  std::vector<std::byte> buffer(static_cast<std::size_t>(piece));
  ssize_t there = 0;
  bool is_written = true;
  for (Bytes at = 0; is_written && (there = pread(input, buffer.data(), buffer.size(), static_cast<off_t>(at))) > 0;) {
    is_written = write_all(output, std::span(buffer).first(static_cast<std::size_t>(there)), at);
    at += static_cast<Bytes>(there);
  }
  const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
  // What it was copied from goes then: it is durable before.
  is_written = is_written && there == 0 && fchmod(output, status.st_mode & 07777) == 0;
  is_written = is_written && futimens(output, times.data()) == 0 && fsync(output) == 0;
  int error = is_written ? 0 : errno;
  close(input);
  if (close(output) != 0 && error == 0) error = errno;
  if (error == 0 && rename(working.c_str(), to.c_str()) != 0) error = errno;
  if (error != 0) unlink(working.c_str());
  return error;
}

}  // namespace glean::gather
