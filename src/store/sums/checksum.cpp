// SPDX-License-Identifier: BSD-3-Clause
#include "store/sums/checksum.hpp"

#include <xxhash.h>

#include <limits>
#include <new>

namespace glean::store {
namespace {

XXH3_state_t* as_state(void* state) { return static_cast<XXH3_state_t*>(state); }

bool continues(const StridedSum& progression, const Extent& run) {
  if (run.size() != progression.length || progression.runs == std::numeric_limits<std::uint32_t>::max()) return false;
  return progression.runs == 1 || run.begin == progression.run_begin(progression.runs);
}

}  // namespace

StreamingSum::StreamingSum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(as_state(state_.get()));
}

void StreamingSum::Free::operator()(void* state) const { XXH3_freeState(as_state(state)); }

void StreamingSum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(as_state(state_.get()), bytes.data(), bytes.size());
}

std::uint64_t StreamingSum::value() const { return XXH3_64bits_digest(as_state(state_.get())); }

std::vector<StridedSum> checksums_of(std::span<const Extent> runs, const std::byte* buffer, Bytes buffer_offset,
                                     bool read_back) {
  std::vector<StridedSum> sums;
  for (const Extent& run : runs) {
    if (!sums.empty() && continues(sums.back(), run)) {
      if (sums.back().runs == 1) sums.back().stride = run.begin - sums.back().begin;
      ++sums.back().runs;
    } else {
      sums.push_back({run.begin, run.size(), 0, 1, read_back, 0});
    }
  }
  for (StridedSum& sum : sums) {
    const std::byte* first = buffer + (sum.begin - buffer_offset);
    if (sum.runs == 1) {
      sum.sum = XXH3_64bits(first, sum.length);
      continue;
    }
    StreamingSum streaming;
    for (std::uint64_t run = 0; run < sum.runs; ++run) streaming.add({first + run * sum.stride, sum.length});
    sum.sum = streaming.value();
  }
  return sums;
}

}  // namespace glean::store
