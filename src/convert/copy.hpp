// SPDX-License-Identifier: BSD-3-Clause
//
// Elements from one file into another, window by window, past the page cache where the file systems allow it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "convert/target.hpp"
#include "store/posix/writer.hpp"

namespace glean::convert {

struct Copied {
  Bytes read = 0, written = 0;                    // without what is a hole in the source, and stays one
  std::map<int, std::uint64_t> became_infinite;   // variable → finite values that single precision does not hold
};

// Of one thread, with buffers of 40 MiB: it reads and converts a window while earlier ones are written. Blocks.
class Copier {
 public:
  Copier(store::SystemCalls& calls, Source& source, store::File& target);
  // Elements that follow in the target what was copied before share its window.
  void copy(const ElementCopy& elements);
  // Waits until all is written. Throws the first failure, as copy() does.
  void finish();
  [[nodiscard]] const Copied& copied() const { return copied_; }

 private:
  static constexpr std::size_t windows = 4;
  struct Window {
    std::byte* buffer = nullptr;   // of the block in which it begins
    Bytes begin = 0, end = 0, limit = 0;   // in the target
  };
  struct Unmap {
    Bytes bytes;
    void operator()(std::byte* memory) const;
  };
  // Room for elements at `offset` of the target, in the window that ends there or in a new one.
  [[nodiscard]] std::span<std::byte> room_at(Bytes offset, Bytes element);
  void submit();
  void reap(store::Writer::Reap how);

  Source& source_;
  store::File& target_;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<std::byte*> free_;
  std::span<std::byte> big_;                // as it is read, in whole blocks
  Window window_;                           // that is filled; without a buffer there is none
  std::unique_ptr<store::Writer> writer_;   // after the memory: requests end before it goes
  int error_ = 0;                           // of the first write that has failed
  Copied copied_;
};

}  // namespace glean::convert
