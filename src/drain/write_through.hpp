// SPDX-License-Identifier: BSD-3-Clause
//
// A rank writes what it puts into the file itself: where an output wants that when the pool is full.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "drain/description.hpp"
#include "pool/capture.hpp"
#include "pool/pool.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

// The files of one rank. Not thread-safe. Takes 2 MiB while there are any.
class WriteThrough {
 public:
  // `pool` and `calls` must live as long.
  WriteThrough(pool::Pool& pool, int rank, store::SystemCalls& calls) : pool_(pool), rank_(rank), calls_(calls) {}

  // Writes the elements of `record` (place file, in the journal already) from the application's memory. Values out of range
  // are treated as by the drain. Nothing is done for an output that has failed. Throws what the storage says. Blocks.
  void write(const pool::Record& record, const pool::Source& source);
  // Closes the file of an output.
  void leave(const pool::OutputKey& output);

 private:
  struct Target {
    OutputDescription description;
    std::unique_ptr<store::File> file;
  };
  Target& target(const pool::OutputKey& output);
  void write(Target& target, const pool::Record& record, const pool::Source& source);

  pool::Pool& pool_;
  int rank_;
  store::SystemCalls& calls_;
  std::map<pool::OutputKey, Target> targets_;
  std::vector<std::byte> elements_;   // of a part, as in the application's memory
  std::vector<std::byte> window_;     // the same in the file
};

}  // namespace glean::drain
