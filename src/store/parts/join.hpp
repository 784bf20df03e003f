// SPDX-License-Identifier: BSD-3-Clause
//
// One file of the several that an output was written to: the one that a session without parts would have written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/format/format.hpp"
#include "store/parts/part_index.hpp"

namespace glean::store {

// A part that is complete, with what its header says.
struct Part {
  std::string path;
  PartIndex index;
  Bytes bytes = 0;             // of the file
  std::uint64_t records = 0;
  std::vector<std::byte> header{};   // without the number of records: the same in all parts
};

// All parts of the output `path`, in order. Throws not_found, naming what is missing, and io or overlap where they are not parts
// of one output that fit together. Blocks.
[[nodiscard]] std::vector<Part> find_parts(SystemCalls& calls, const std::string& path);

// What they have together.
struct Whole {
  std::uint64_t records = 0;
  std::uint64_t steps_left_out = 0;   // that some parts have and others do not: the job was killed, or its ranks did not end as many
  Finished finished;                  // the joined file
};
[[nodiscard]] Whole whole_of(const std::vector<Part>& parts);

struct Joined {
  std::string path;
  Bytes bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t steps_left_out = 0;   // as in Whole
};

// Writes `output` from them: under a working name, published when it is durable. Throws, and leaves nothing then. Blocks.
Joined join(SystemCalls& calls, const std::vector<Part>& parts, const std::string& output);

// The parts with their indexes. Throws. Blocks.
void remove_parts(SystemCalls& calls, const std::vector<Part>& parts);

}  // namespace glean::store
