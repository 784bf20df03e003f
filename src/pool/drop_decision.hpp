// SPDX-License-Identifier: BSD-3-Clause
//
// Of outputs that may drop: what the ranks of a node have decided about a step. The first rank that begins the step decides
// (capture/dropping.hpp), and every rank counts itself in.
#pragma once

#include <cstdint>

namespace glean::pool {

enum class DropDecision : std::uint64_t { none, keep, drop };

// What OutputSlot::steps.decisions holds.
struct Decision {
  std::uint64_t step = 0;
  std::uint64_t asked = 0;   // ranks that know it
  DropDecision what = DropDecision::none;

  static Decision of(std::uint64_t word) {
    return {word >> 18, word >> 2 & 0xffff, static_cast<DropDecision>(word & 3)};
  }
  [[nodiscard]] std::uint64_t word() const { return step << 18 | asked << 2 | static_cast<std::uint64_t>(what); }
};

}  // namespace glean::pool
