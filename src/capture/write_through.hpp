// SPDX-License-Identifier: BSD-3-Clause
//
// A rank writes what it puts into the file itself: where an output wants that when the pool is full. On several nodes only what
// its own node writes: caches of nodes need not agree about a block that both write in part.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "capture/copy.hpp"
#include "mesh/pattern.hpp"
#include "plan/file_share.hpp"
#include "pool/journal.hpp"
#include "pool/pool.hpp"
#include "store/description.hpp"
#include "store/posix/file.hpp"

namespace glean::capture {

using base::Bytes;

// The files of one rank. Not thread-safe. Takes 2 MiB while there are any, or 1 MiB of raw outputs only.
class WriteThrough {
 public:
  // `pool` and `calls` must live as long.
  WriteThrough(pool::Pool& pool, int rank, store::SystemCalls& calls) : pool_(pool), rank_(rank), calls_(calls) {}

  // How many elements of a put, from its first on, this node writes all bytes of. Throws what the storage says.
  [[nodiscard]] std::uint64_t own_elements(const pool::Recorder::Put& put);
  // Writes the elements of `record` (place file, in the journal already) from the application's memory. Values out of range
  // are treated as by the drain. Nothing is done for an output that has failed. Throws what the storage says. Blocks.
  void write(const pool::Record& record, const Source& source);
  // Writes bytes of a raw output: all writes before this one are in the file, and those after it wait. `copy_out`
  // copies bytes of the pattern's stream.
  void write(const pool::OutputKey& output, const mesh::PatternPart& bytes, const CopyOut& copy_out);
  // Closes the file of an output.
  void leave(const pool::OutputKey& output);

 private:
  struct Target {
    store::OutputDescription description;
    std::unique_ptr<store::File> file;
    std::optional<plan::FileWriters> writers;   // of several nodes
  };
  [[nodiscard]] bool has_failed(const pool::OutputKey& output) const;
  Target& target(const pool::OutputKey& output);
  void write(Target& target, const pool::Record& record, const Source& source);

  pool::Pool& pool_;
  int rank_;
  store::SystemCalls& calls_;
  std::map<pool::OutputKey, Target> targets_;
  std::vector<std::byte> elements_;   // of a part, as in the application's memory
  std::vector<std::byte> window_;     // the same in the file
};

}  // namespace glean::capture
