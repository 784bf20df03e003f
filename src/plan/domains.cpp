// SPDX-License-Identifier: BSD-3-Clause
#include "plan/domains.hpp"

#include <algorithm>
#include <vector>

namespace glean::plan {
namespace {

// The part of [0, length) divided among n in which `at` lies: all parts are alike but the last ones.
std::int64_t part(Bytes at, Bytes length, std::int64_t n) {
  if (length == 0) return 0;
  const Bytes size = (length - 1) / static_cast<Bytes>(n) + 1;
  return static_cast<std::int64_t>(std::min(at, length - 1) / size);
}

// The part of [0, length), where variables begin at `begins`, that is the variable's in which `at` lies.
struct Range {
  Bytes begin, end;
};
Range variable_at(Bytes at, const std::vector<Bytes>& begins, Bytes length) {
  const auto next = std::upper_bound(begins.begin(), begins.end(), at);
  return {next == begins.begin() ? 0 : *(next - 1), next == begins.end() ? std::max(length, at) : *next};
}

}  // namespace

std::int64_t FileDomains::owner(std::uint64_t window) const {
  const auto turn = static_cast<std::int64_t>(window % static_cast<Bytes>(aggregators));
  if (in_turn) return turn;
  const Bytes middle = window * window_bytes + window_bytes / 2;
  const bool in_records = record_bytes != 0 && middle >= record_begin;
  if (in_records && record_bytes < window_bytes) {   // records that are shorter than a window go round in turn
    return static_cast<std::int64_t>((middle - record_begin) / window_bytes % static_cast<Bytes>(aggregators));
  }
  const Bytes begin = in_records ? record_begin : std::min(fixed_begin, middle);
  const Bytes length = in_records ? record_bytes : std::max(fixed_end, fixed_begin) - fixed_begin;
  const Bytes at = in_records ? (middle - begin) % record_bytes : middle - begin;
  const auto& variables = in_records ? record_variables : fixed_variables;
  if (variables.empty()) return part(at, length, aggregators);
  const Range variable = variable_at(at, variables, length);
  // Variables that do not have a window for each: one after the other, so that all get some.
  if ((variable.end - variable.begin) / window_bytes < static_cast<Bytes>(aggregators)) return turn;
  return part(at - variable.begin, variable.end - variable.begin, aggregators);
}

}  // namespace glean::plan
