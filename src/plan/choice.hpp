// SPDX-License-Identifier: BSD-3-Clause
//
// How many aggregators a group gets and how many files there are: every candidate with its predicted cost, and the one chosen.
#pragma once

#include <vector>

#include "plan/cost.hpp"

namespace glean::plan {

enum class Verdict {
  possible,
  too_little_each,   // an aggregator would have less than a block or stripe of the file
  too_much_memory,   // an aggregator would have to hold more than it may
};

struct Alternative {
  int aggregators = 1;             // of a group
  std::int64_t files = 0;          // 0: none, the data go to stagers
  Verdict verdict = Verdict::possible;
  Bytes bytes_per_aggregator = 0;  // of the busiest
  Bytes window_bytes = 0;          // of the file domains; 0: none
  Cost cost;
  friend bool operator==(const Alternative&, const Alternative&) = default;
};

struct Choice {
  std::vector<Alternative> alternatives;   // aggregators ascending, then files
  std::size_t chosen = 0;
  GroupId group = 0;                       // that it was made from
  Bytes group_bytes = 0;                   // what it has to write; of storage: an even share
  Bytes memory_bytes = 0;                  // of an aggregator
  friend bool operator==(const Choice&, const Choice&) = default;

  [[nodiscard]] const Alternative& best() const { return alternatives[chosen]; }
  // How often an aggregator has to empty its memory before it has all: 1 unless nothing fits.
  [[nodiscard]] std::int64_t rounds() const;
};

// The fastest of those that are possible; of those that take at most `margin` longer, the one with the fewest files and then
// the fewest aggregators. Where none has memory enough, those with the least count as possible. The margin is how well such a model
// meets published figures at best: what is nearer than that is not told apart.
inline constexpr double margin = 0.05;
[[nodiscard]] Choice choose(const Situation& situation);

}  // namespace glean::plan
