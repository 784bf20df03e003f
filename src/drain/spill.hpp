// SPDX-License-Identifier: BSD-3-Clause
//
// Reading spill files, on the side of the drain (docs/formats/spill.md).
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pool/journal.hpp"
#include "pool/spill.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::drain {

using base::Bytes;

// What is in a spill file is not what was put there.
struct DamagedSpill : base::Error {
  using base::Error::Error;
};

// The error, said of what is lost with it.
[[nodiscard]] DamagedSpill lost_payload(const DamagedSpill& error, const std::string& variable, const std::string& path,
                                        std::uint64_t step);

// The spill files of all ranks, or of a stager. Any thread.
class SpillFiles {
 public:
  SpillFiles(pool::Pool& pool, store::SystemCalls& calls);
  ~SpillFiles();
  SpillFiles(const SpillFiles&) = delete;
  SpillFiles& operator=(const SpillFiles&) = delete;

  // Reads the payload of a record of that rank into `buffer` and returns where it begins. Throws DamagedSpill, and what the
  // storage says. Blocks.
  [[nodiscard]] const std::byte* read(const pool::Record& record, int rank, std::vector<std::byte>& buffer);

  // As JournalReader::give_payload_back(), and the room in the spill file is free, too.
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
