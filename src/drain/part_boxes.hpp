// SPDX-License-Identifier: BSD-3-Clause
//
// Of an output that is one of several files: what its own ranks may put, by the index of the parts. What they do not put is in the other
// files, or filled when these are joined.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "store/layout.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

using base::Extent;

class PartBoxes {
 public:
  // Reads the index. Throws what the storage says.
  PartBoxes(store::SystemCalls& calls, const store::FileNames& names);
  // The parts of holes in a record of the variable, ascending and disjoint, that lie in the boxes.
  [[nodiscard]] std::vector<Extent> within(std::uint32_t variable, const store::VariableLayout& layout, std::uint64_t record,
                                           const std::vector<Extent>& holes) const;

 private:
  std::vector<std::vector<Extent>> elements_;   // of a record, by variable
};

}  // namespace glean::drain
