// SPDX-License-Identifier: BSD-3-Clause
//
// A request cut into what goes direct and what goes through the page cache, and how far each part has come.
// Shared by the writers; they differ only in how a write reaches the kernel.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "store/posix/writer.hpp"

namespace glean::store {

class WritePart {
 public:
  enum class Kind { direct, buffered };
  enum class Next { write, done, failed };

  WritePart() = default;
  WritePart(File& file, Kind kind, std::span<const std::span<const std::byte>> segments, Bytes offset);

  // The write to do next.
  [[nodiscard]] int descriptor() const {
    return kind_ == Kind::direct ? file_->direct_descriptor() : file_->buffered_descriptor();
  }
  [[nodiscard]] std::span<const iovec> segments() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Bytes offset() const { return offset_; }

  // Takes in what that write returned (bytes or -errno), counts it, and says what to do now. A direct write that the
  // file system refuses, or that stops inside a block, is continued through the page cache.
  [[nodiscard]] Next advance(ssize_t result, WriteCounters& counters);
  // The errno after `failed`.
  [[nodiscard]] int error() const { return error_; }

 private:
  [[nodiscard]] Next retry(int error);
  void count(Bytes bytes, WriteCounters& counters) const;

  File* file_ = nullptr;
  Kind kind_ = Kind::buffered;
  std::vector<iovec> segments_;
  std::size_t first_ = 0;             // of what is left
  Bytes offset_ = 0;
  int attempts_ = 0;                  // since the last progress
  int error_ = 0;
};

inline constexpr int parts_max = 3;

struct WriteParts {
  std::array<WritePart, parts_max> part;
  int count = 0;
};

// Whole blocks direct, partial blocks at either end buffered; all buffered where direct writing is not possible.
[[nodiscard]] WriteParts split(const WriteRequest& request);

}  // namespace glean::store
