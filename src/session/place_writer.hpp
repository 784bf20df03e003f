// SPDX-License-Identifier: BSD-3-Clause
//
// One call's bytes on their way into a raw output, where they go to many places.
#pragma once

#include <cstdint>

#include "mesh/run_list.hpp"
#include "session/byte_output.hpp"

namespace glean::session {

// Captures what is added, in the order of the stream. Places of few bytes are collected into lists (mesh/run_list.hpp), as long as they
// ascend in the file: a write for each of a million would fill the journal, and keep the drain busy with records.
class PlaceWriter {
 public:
  // `places` at most are added: few are not worth a list, and stay boxes of arrays, if they are. Refers to `output` and `copy_out`. The
  // rest as ByteOutput::write has it.
  PlaceWriter(ByteOutput& output, std::uint32_t collective_count, const ByteOutput::CopyOut& copy_out, std::uint64_t places,
              std::uint32_t variable = 0);
  void add(const mesh::Pattern& place);
  // What was collected. Call it once, when all is added.
  void finish();

  // In how many writes `bytes` bytes of `places` places at most are captured, which lie in the file between `begin` and `end`, and of which
  // `descents` lie before the one that was added before them.
  [[nodiscard]] static std::uint64_t writes_for(const ByteOutput& output, base::Bytes bytes, std::uint64_t places, base::Extent extent,
                                                std::uint64_t descents);

 private:
  void add_run(base::Bytes offset, base::Bytes bytes);

  ByteOutput& output_;
  std::uint32_t collective_count_;
  const ByteOutput::CopyOut& copy_out_;
  std::uint32_t variable_;
  base::Bytes small_;           // a place of fewer bytes is collected
  mesh::RunListBuilder list_;
  base::Bytes first_ = 0;       // of the list, in the stream
  base::Bytes added_ = 0;
};

}  // namespace glean::session
