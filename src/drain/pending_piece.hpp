// SPDX-License-Identifier: BSD-3-Clause
//
// A piece that waits in the pool to be written.
#pragma once

#include "pool/journal.hpp"
#include "store/windows/range_error.hpp"
#include "store/windows/window.hpp"

namespace glean::drain {

using base::Bytes;
using base::Extent;

// A record that an output has taken from a journal, and not retired.
struct TakenRecord {
  const pool::Record* record = nullptr;
  pool::JournalReader* journal = nullptr;
};

// Lives until all its bytes are written.
struct PendingPiece : store::TypedPiece, TakenRecord {
  int job_rank = 0;   // that has put it
  std::uint64_t step = 0;
  Bytes unwritten_bytes = 0;   // of the file
  std::uint64_t number = 0;    // in the order in which records of the output were taken

  [[nodiscard]] store::PutElements elements() const {
    return {pool::box_of(*record), record->first_element, static_cast<mesh::Type>(record->memory_type), job_rank, step};
  }
  static PendingPiece& of(store::TypedPiece& typed) { return static_cast<PendingPiece&>(typed); }
  static const PendingPiece& of(const store::TypedPiece& typed) { return static_cast<const PendingPiece&>(typed); }
};

}  // namespace glean::drain
