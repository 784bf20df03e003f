// SPDX-License-Identifier: BSD-3-Clause
#include "posix_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace nekcem {

// Every process gives the file its final size. The first one cuts off what an earlier run has left; to the others it changes nothing,
// so they need not wait for each other.
PosixFile::PosixFile(const std::string& path, std::int64_t bytes) : path_(path), descriptor_(open(path.c_str(), O_CREAT | O_WRONLY, 0666)) {
  if (descriptor_ < 0) fail("cannot create ");
  if (ftruncate(descriptor_, bytes) != 0) {
    const int error = errno;
    ::close(descriptor_);
    errno = error;
    fail("cannot size ");
  }
}

PosixFile::~PosixFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PosixFile& PosixFile::write(std::span<const Extent> extents, std::span<const std::byte> buffer) {
  for (const Extent& extent : extents) {
    const std::byte* from = buffer.data() + extent.buffer_offset;
    for (std::int64_t done = 0; done < extent.bytes;) {
      const ssize_t written = pwrite(descriptor_, from + done, static_cast<std::size_t>(extent.bytes - done), extent.file_offset + done);
      if (written < 0 && errno != EINTR) fail("cannot write ");
      if (written > 0) done += written;
    }
  }
  return *this;
}

void PosixFile::close(Durability durability) {
  if (durability == Durability::fsync && fsync(descriptor_) != 0) fail("cannot fsync ");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("cannot close ");
}

void PosixFile::fail(const char* what) const { throw std::runtime_error(what + path_ + ": " + std::strerror(errno)); }

}  // namespace nekcem
