// SPDX-License-Identifier: BSD-3-Clause
#include "session/grids/put_map.hpp"

#include <algorithm>

namespace glean::session {

void OwnPoints::split(std::size_t block, const mesh::Box& box, Receiver& receiver) const {
  const mesh::Box& own = own_[block];
  part_.start.resize(box.start.size());
  part_.count.resize(box.start.size());
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    const std::uint64_t begin = std::max(box.start[d], own.start[d]);
    const std::uint64_t end = std::min(box.start[d] + box.count[d], own.start[d] + own.count[d]);
    if (begin >= end) return;
    part_.start[d] = begin;
    part_.count[d] = end - begin;
  }
  receiver.take(variable_, part_, part_);
}

void AmrLevels::give(const Place& place, std::uint64_t first, std::uint64_t count, Receiver& receiver) const {
  file_.start.assign({first});
  file_.count.assign({count});
  if (has_components_) {
    file_.start.push_back(part_.start.back());
    file_.count.push_back(part_.count.back());
  }
  receiver.take(place.variable, file_, part_);
}

// part_ lies in one block and does not have all its elements: rows of it are the longest runs.
void AmrLevels::split_block(const Place& place, Receiver& receiver) const {
  const std::size_t dimensions = elements_.size();
  const mesh::Box all = part_;
  mesh::Shape at(all.start.begin() + 1, all.start.begin() + 1 + static_cast<std::ptrdiff_t>(dimensions));
  std::uint64_t block_elements = 1;
  for (const std::uint64_t count : elements_) block_elements *= count;
  for (;;) {
    std::uint64_t position = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      position = position * elements_[d] + at[d];
      if (d + 1 == dimensions) continue;
      part_.start[d + 1] = at[d];
      part_.count[d + 1] = 1;
    }
    give(place, place.position * block_elements + position, all.count[dimensions], receiver);
    std::size_t d = dimensions - 1;   // the row's own dimension stays
    while (d > 0 && ++at[d - 1] == all.start[d] + all.count[d]) {
      at[d - 1] = all.start[d];
      --d;
    }
    if (d == 0) break;
  }
  part_ = all;
}

void AmrLevels::split(std::size_t /*block*/, const mesh::Box& box, Receiver& receiver) const {
  std::uint64_t block_elements = 1;
  bool has_all = true;
  for (std::size_t d = 0; d < elements_.size(); ++d) {
    block_elements *= elements_[d];
    has_all = has_all && box.count[d + 1] == elements_[d];
  }
  const std::uint64_t end = box.start[0] + box.count[0];
  for (std::uint64_t b = box.start[0]; b < end;) {
    const Place& place = blocks_[b - first_block_];
    std::uint64_t blocks = 1;   // that follow each other in the file as they do here
    while (has_all && b + blocks < end) {
      const Place& next = blocks_[b + blocks - first_block_];
      if (next.variable != place.variable || next.position != place.position + blocks) break;
      ++blocks;
    }
    part_ = box;
    part_.start[0] = b;
    part_.count[0] = blocks;
    if (has_all) give(place, place.position * block_elements, blocks * block_elements, receiver);
    else split_block(place, receiver);
    b += blocks;
  }
}

}  // namespace glean::session
