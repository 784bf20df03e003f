// SPDX-License-Identifier: BSD-3-Clause
//
// A file to read from.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::store {

class InputFile {
 public:
  InputFile(SystemCalls& calls, std::string path) : calls_(calls), path_(std::move(path)) {
    descriptor_ = calls_.open(path_.c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (descriptor_ < 0) throw cannot_read(-descriptor_);
  }
  ~InputFile() { calls_.close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] base::Bytes bytes() const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) throw cannot_read(errno);
    if (!S_ISREG(status.st_mode)) throw base::Error(base::Errc::io, fmt::format("'{}' is not a regular file", path_));
    return static_cast<base::Bytes>(status.st_size);
  }
  // What lies behind the end reads as zeros. Throws. Blocks.
  void read(std::span<std::byte> into, base::Bytes offset) const {
    while (!into.empty()) {
      const ssize_t result = calls_.pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
      if (result == -EINTR) continue;
      if (result < 0) throw cannot_read(static_cast<int>(-result));
      if (result == 0) break;
      into = into.subspan(static_cast<std::size_t>(result));
      offset += static_cast<base::Bytes>(result);
    }
    std::fill(into.begin(), into.end(), std::byte{0});
  }

 private:
  [[nodiscard]] base::Error cannot_read(int error) const {
    return base::system_error(error, fmt::format("cannot read '{}'", path_));
  }

  SystemCalls& calls_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace glean::store
