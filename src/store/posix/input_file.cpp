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

InputFile::InputFile(SystemCalls& calls, std::string path) : calls_(calls), path_(std::move(path)) {
  descriptor_ = calls_.open(path_.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (descriptor_ < 0) throw cannot_read(-descriptor_);
}

InputFile::~InputFile() { calls_.close(descriptor_); }

struct stat InputFile::status() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) throw cannot_read(errno);
  return status;
}

base::Bytes InputFile::bytes() const {
  const struct stat found = status();
  if (!S_ISREG(found.st_mode)) throw base::Error(base::Errc::io, fmt::format("'{}' is not a regular file", path_));
  return static_cast<base::Bytes>(found.st_size);
}

base::Bytes InputFile::stored_bytes() const {
  constexpr base::Bytes unit = 512;   // of st_blocks, whatever the file system's blocks are
  return static_cast<base::Bytes>(status().st_blocks) * unit;
}

bool InputFile::is_hole(base::Extent extent) const {
  const off_t data = lseek(descriptor_, static_cast<off_t>(extent.begin), SEEK_DATA);
  return data < 0 ? errno == ENXIO : static_cast<base::Bytes>(data) >= extent.end;
}

std::size_t InputFile::read(std::span<std::byte> into, base::Bytes offset) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t result = calls_.pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (result == -EINTR) continue;
    if (result < 0) throw cannot_read(static_cast<int>(-result));
    if (result == 0) break;
    done += static_cast<std::size_t>(result);
  }
  return done;
}

void InputFile::read_with_zeros(std::span<std::byte> into, base::Bytes offset) const {
  const std::size_t there = read(into, offset);
  std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
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
