// SPDX-License-Identifier: BSD-3-Clause
//
// Elements from one file into another, slab by slab.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "convert/target.hpp"
#include "store/posix/file.hpp"

namespace glean::convert {

struct Copied {
  Bytes read = 0, written = 0;                    // without what is a hole in the source, and stays one
  std::map<int, std::uint64_t> became_infinite;   // variable → finite values that single precision does not hold
};

// Of one thread, with buffers of 16 MiB. Blocks.
class Copier {
 public:
  Copier(const Source& source, store::File& target);
  void copy(const ElementCopy& elements);
  [[nodiscard]] const Copied& copied() const { return copied_; }

 private:
  const Source& source_;
  store::File& target_;
  std::vector<std::byte> big_, little_;
  Copied copied_;
};

}  // namespace glean::convert
