// SPDX-License-Identifier: BSD-3-Clause
//
// Requests to a file, several in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "store/posix/file.hpp"

namespace glean::store {

struct WriteRequest {
  File* file = nullptr;
  // The bytes of one range of the file, in its order; what they point to is valid until the request completes. The whole blocks inside go
  // direct if each segment's address is equal to its file offset modulo file->block_bytes(), and segments meet between blocks.
  std::vector<std::span<const std::byte>> segments;
  Bytes offset = 0;
  std::uint64_t tag = 0;             // given back on completion
  bool through_cache = false;        // all of it: it will be read soon

  [[nodiscard]] Bytes size() const;
};

struct WriteCompletion {
  std::uint64_t tag = 0;
  int error = 0;                     // 0, or the errno of the first failure
};

// What was asked of the system, for the report.
struct WriteCounters {
  std::uint64_t direct_requests = 0, direct_bytes = 0;
  std::uint64_t buffered_requests = 0, buffered_bytes = 0;   // partial blocks, and files without direct I/O
  WriteCounters& operator+=(const WriteCounters& other);
};

// Writes whole blocks with O_DIRECT and the partial blocks at either end through the page cache. Short writes
// and EINTR are continued. One completion per request, in any order. Owned by one thread.
class Writer {
 public:
  virtual ~Writer() = default;
  // Room for another request? submit() requires it.
  [[nodiscard]] virtual bool has_room() const = 0;
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  virtual void submit(const WriteRequest& request) = 0;
  // Hands over what has completed. With `block` and requests in flight: waits for at least one.
  enum class Reap { poll, block };
  virtual void reap(Reap how, const std::function<void(const WriteCompletion&)>& completed) = 0;
  [[nodiscard]] virtual WriteCounters counters() const = 0;
};

// io_uring with up to `depth` requests in flight; nullptr where the kernel or the build does not have it.
[[nodiscard]] std::unique_ptr<Writer> make_uring_writer(SystemCalls& calls, int depth);
// pwritev in submit(); always there.
[[nodiscard]] std::unique_ptr<Writer> make_pwrite_writer(SystemCalls& calls);

}  // namespace glean::store
