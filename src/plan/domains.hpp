// SPDX-License-Identifier: BSD-3-Clause
//
// Which aggregator writes which part of a shared file (design.md, section 4, "Alignment"; seed 002, "Alignment").
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace glean::plan {

using base::Bytes;

// A file is cut into windows of `window_bytes` from its beginning on, whole blocks of the file system; each window is written
// by one aggregator alone, so that no block is written by two nodes. Every variable, or every record of it, is divided in order
// among all aggregators: a rank that puts neighbouring parts of variables meets few of them, and where ranks have their parts in order
// each node has most of its own.
struct FileDomains {
  Bytes window_bytes = 0;
  Bytes fixed_begin = 0, fixed_end = 0;    // of what is not records
  Bytes record_begin = 0;                  // of record 0
  Bytes record_bytes = 0;                  // of one record of all variables; 0: no records
  // Where variables begin, ascending, from fixed_begin and from the beginning of a record; empty: all is one.
  std::vector<Bytes> fixed_variables{}, record_variables{};
  std::int64_t aggregators = 1;
  bool in_turn = false;                    // one window each, round and round: where only some of the file is written at all
  friend bool operator==(const FileDomains&, const FileDomains&) = default;

  // 0 … aggregators - 1; of the window that begins at window * window_bytes. Pure, O(log variables).
  [[nodiscard]] std::int64_t owner(std::uint64_t window) const;
};

}  // namespace glean::plan
