// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace glean::store {

InputFile::InputFile(SystemCalls& calls, std::string path) : calls_(&calls), path_(std::move(path)) {
  descriptor_ = calls_->open(path_.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (descriptor_ < 0) throw cannot_read(-descriptor_);
}

InputFile::~InputFile() {
  if (source_) return;
  calls_->close(descriptor_);
  if (direct_ && *direct_ >= 0) calls_->close(*direct_);
}

struct stat InputFile::status() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) throw cannot_read(errno);
  return status;
}

base::Bytes InputFile::bytes() const {
  if (source_) return source_->bytes();
  const struct stat found = status();
  if (!S_ISREG(found.st_mode)) throw base::Error(base::Errc::io, fmt::format("'{}' is not a regular file", path_));
  return static_cast<base::Bytes>(found.st_size);
}

base::Bytes InputFile::stored_bytes() const {
  if (source_) return source_->bytes();
  constexpr base::Bytes unit = 512;   // of st_blocks, whatever the file system's blocks are
  return static_cast<base::Bytes>(status().st_blocks) * unit;
}

bool InputFile::is_hole(base::Extent extent) const {
  if (source_) return false;
  const off_t data = lseek(descriptor_, static_cast<off_t>(extent.begin), SEEK_DATA);
  return data < 0 ? errno == ENXIO : static_cast<base::Bytes>(data) >= extent.end;
}

std::size_t InputFile::read(std::span<std::byte> into, base::Bytes offset) const {
  if (source_) return source_->read_at(into, offset);
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t result = calls_->pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (result == -EINTR) continue;
    if (result < 0) throw cannot_read(static_cast<int>(-result));
    if (result == 0) break;
    done += static_cast<std::size_t>(result);
  }
  return done;
}

void InputFile::will_need(base::Extent extent) const noexcept {
  if (source_) return;
  // Of one request Linux fetches what the device takes at once, or the file system reads ahead: at least `least`. So what may be left of
  // a large one is asked for again, which costs next to nothing where it is on its way.
  constexpr base::Bytes large = 512 * base::KiB, least = 128 * base::KiB;
  for (base::Bytes at = extent.begin; at < extent.end; at += least) {
    const base::Bytes end = std::min(extent.end, extent.begin + base::align_up(at + 1 - extent.begin, large));
    calls_->will_need(descriptor_, static_cast<off_t>(at), static_cast<off_t>(end - at));
  }
}

void InputFile::read_with_zeros(std::span<std::byte> into, base::Bytes offset) const {
  const std::size_t there = read(into, offset);
  std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
}

std::span<const std::byte> InputFile::read_once(base::Extent extent, std::span<std::byte> blocks) {
  constexpr base::Bytes large = base::MiB;   // the kernel reads ahead of smaller ones
  const base::Bytes before = extent.begin % block_bytes, first = extent.begin - before;
  const std::span<std::byte> whole = blocks.first(base::align_up(extent.end, block_bytes) - first);
  const base::Bytes there = source_ || extent.size() < large ? 0 : read_direct(whole, {first, extent.end});
  // What is left: all of it where there is no direct I/O, or the file ends before.
  const base::Bytes done = std::max(first + there, extent.begin);
  if (done < extent.end) read_with_zeros(whole.subspan(done - first, extent.end - done), done);
  return whole.subspan(before, extent.size());
}

// Returns how many bytes it has read: fewer than wanted where the rest has to be read in another way.
base::Bytes InputFile::read_direct(std::span<std::byte> blocks, base::Extent wanted) {
  // The same file, whatever its path leads to by now.
  if (!direct_) direct_ = calls_->open(fmt::format("/proc/self/fd/{}", descriptor_).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC, 0);
  base::Bytes there = 0;
  while (*direct_ >= 0 && there < wanted.size()) {
    const ssize_t result = calls_->pread(*direct_, blocks.data() + there, blocks.size() - there, static_cast<off_t>(wanted.begin + there));
    if (result == -EINTR) continue;
    if (result < 0 && result != -EINVAL) throw cannot_read(static_cast<int>(-result));
    if (result <= 0) break;
    there += static_cast<base::Bytes>(result);
    if (there % block_bytes != 0) break;   // the end of the file
  }
  return std::min(there, wanted.size());
}

std::vector<std::byte> InputFile::read_all() const {
  constexpr std::size_t piece = 64 * base::KiB;
  std::vector<std::byte> content;
  std::size_t there = 0;
  do {
    const std::size_t before = content.size();
    content.resize(before + piece);
    there = read(std::span(content).subspan(before), before);
    content.resize(before + there);
  } while (there == piece);
  return content;
}

base::Error InputFile::cannot_read(int error) const { return base::system_error(error, fmt::format("cannot read '{}'", path_)); }

}  // namespace glean::store
