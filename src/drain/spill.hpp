// SPDX-License-Identifier: BSD-3-Clause
//
// Writing spill files, on the side of a rank, and reading them, on the side of the drain.
#pragma once

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "drain/window.hpp"
#include "pool/capture.hpp"
#include "pool/journal.hpp"
#include "pool/spill.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::drain {

// The spill file of one rank. Takes a chunk of memory from the first write on.
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
  [[nodiscard]] std::optional<Bytes> write(const pool::Recorder::Put& put, Bytes payload_bytes, const pool::CopyOut& copy_out);

 private:
  [[nodiscard]] bool open();
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

// What is in a spill file is not what was put there.
struct DamagedSpill : base::Error {
  using base::Error::Error;
};

// The same, said of what is lost with it.
[[nodiscard]] DamagedSpill lost_payload(const DamagedSpill& error, const std::string& variable, const std::string& path,
                                        std::uint64_t step);

// The spill files of all ranks. Any thread.
class SpillFiles {
 public:
  SpillFiles(pool::Pool& pool, store::SystemCalls& calls);
  ~SpillFiles();
  SpillFiles(const SpillFiles&) = delete;
  SpillFiles& operator=(const SpillFiles&) = delete;

  // Reads the payload of a record of that rank into `buffer` and returns where it begins. Throws DamagedSpill, and what the
  // storage says. Blocks.
  [[nodiscard]] const std::byte* read(const pool::Record& record, int rank, std::vector<std::byte>& buffer);

  // The same as of the journal, and the room in the spill file is free, too.
  void give_payload_back(const pool::Record& record, pool::JournalReader& journal);
  void retire(const pool::Record& record, pool::JournalReader& journal);

 private:
  [[nodiscard]] int descriptor(int rank);
  void release(int rank, Bytes offset, Bytes payload_bytes);

  pool::Pool& pool_;
  store::SystemCalls& calls_;
  std::mutex mutex_;
  std::vector<int> descriptors_;
  bool has_warned_ = false;
};

}  // namespace glean::drain
