// SPDX-License-Identifier: BSD-3-Clause
//
// Writing spill files, on the side of a rank or a stager (docs/formats/spill.md).
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "capture/copy.hpp"
#include "pool/journal.hpp"
#include "pool/spill.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::capture {

using base::Bytes;

// The spill file of one rank, or of a stager, which is number 0. What an earlier process has made with the same pool it goes on with.
// Takes a chunk of memory from the first write on.
class SpillWriter {
 public:
  // `pool` and `calls` must live as long.
  SpillWriter(pool::Pool& pool, int rank, store::SystemCalls& calls) : pool_(pool), rank_(rank), calls_(calls) {}
  ~SpillWriter();
  SpillWriter(const SpillWriter&) = delete;
  SpillWriter& operator=(const SpillWriter&) = delete;

  // Takes room for a payload of at most a chunk from the budget. False when the pool has nowhere to spill, the budget is used up,
  // or the storage has refused.
  [[nodiscard]] bool reserve(Bytes payload_bytes);
  // Writes a payload that there is room for, and returns the offset of its block. Nothing when the storage refuses: that is
  // logged once, and nothing is spilled any more. Blocks.
  [[nodiscard]] std::optional<Bytes> write(const pool::Recorder::Put& put, Bytes payload_bytes, const CopyOut& copy_out);

 private:
  [[nodiscard]] bool open();
  [[nodiscard]] int open_existing();
  [[nodiscard]] int store(Bytes bytes, Bytes offset);   // of the buffer; 0 or errno
  void give_up(int error);

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  pool::Pool& pool_;
  int rank_;
  store::SystemCalls& calls_;
  std::string path_;
  int descriptor_ = -1;
  bool direct_ = false;
  bool given_up_ = false;
  std::unique_ptr<std::byte, Free> buffer_;
  Bytes end_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace glean::capture
