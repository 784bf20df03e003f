// SPDX-License-Identifier: BSD-3-Clause
#include "byte_map.hpp"

#include <utility>

namespace glean::mpiio {
namespace {

// Sequences up to this long are taken apart to be joined with their neighbours; longer ones are shared.
constexpr std::size_t short_sequence = 16;

}  // namespace

ByteMap ByteMap::block(Bytes bytes) {
  ByteMap map;
  map.bytes_ = bytes;
  return map;
}

ByteMap ByteMap::shifted(std::int64_t by) const {
  ByteMap map = *this;
  if (bytes_ != 0) map.offset_ += by;
  return map;
}

ByteMap ByteMap::repeated(std::uint64_t count, std::int64_t stride) const {
  if (count == 0 || bytes_ == 0) return {};
  if (count == 1) return *this;
  if (node_ == nullptr) {
    if (stride == static_cast<std::int64_t>(bytes_)) return block(count * bytes_).shifted(offset_);
    return of({{count, stride}}, bytes_, nullptr).shifted(offset_);
  }
  std::vector<Loop> loops = node_->loops;
  if (!loops.empty() && stride == static_cast<std::int64_t>(loops.front().count) * loops.front().stride) {
    loops.front().count *= count;
  } else {
    loops.insert(loops.begin(), {count, stride});
  }
  return of(std::move(loops), node_->innermost_bytes, node_->inside).shifted(offset_);
}

ByteMap ByteMap::of(std::vector<Loop> loops, Bytes innermost_bytes, std::shared_ptr<const Sequence> inside) {
  Node node{.loops = std::move(loops), .innermost_bytes = innermost_bytes, .inside = std::move(inside)};
  node.end = static_cast<std::int64_t>(innermost_bytes);
  if (node.inside != nullptr) {
    const auto& parts = node.inside->parts;
    node.begin = parts.front().begin();
    node.end = parts.front().end();
    node.blocks = node.visits = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      node.ascending = node.ascending && parts[p].is_ascending() && (p == 0 || parts[p].begin() >= parts[p - 1].end());
      node.begin = std::min(node.begin, parts[p].begin());
      node.end = std::max(node.end, parts[p].end());
      node.blocks += parts[p].blocks();
      node.visits += parts[p].visits(0, parts[p].bytes());
    }
  }
  Bytes bytes = innermost_bytes;
  for (std::size_t l = node.loops.size(); l-- > 0;) {
    const auto& [count, stride] = node.loops[l];
    if (count > 1 && stride < node.end - node.begin) node.ascending = false;
    const std::int64_t last = static_cast<std::int64_t>(count - 1) * stride;
    (last < 0 ? node.begin : node.end) += last;
    bytes *= count;
    node.blocks *= count;
    if (node.inside != nullptr) node.visits *= count;
  }
  ByteMap map = block(bytes);
  map.node_ = std::make_shared<const Node>(std::move(node));
  return map;
}

bool ByteMap::has_form_of(const ByteMap& other) const {
  if (bytes_ != other.bytes_) return false;
  if (node_ == other.node_) return true;
  return node_ != nullptr && other.node_ != nullptr && node_->loops == other.node_->loops &&
         node_->innermost_bytes == other.node_->innermost_bytes && node_->inside == other.node_->inside;
}

// Takes short sequences apart and lets blocks that touch be one.
std::vector<ByteMap> ByteMap::joined(std::vector<ByteMap> parts) {
  std::vector<ByteMap> out;
  const auto add = [&](ByteMap part) {
    if (part.bytes_ == 0) return;
    ByteMap* last = out.empty() ? nullptr : &out.back();
    if (last != nullptr && last->node_ == nullptr && part.node_ == nullptr && last->end() == part.offset_) {
      last->bytes_ += part.bytes_;
    } else {
      out.push_back(std::move(part));
    }
  };
  out.reserve(parts.size());
  for (ByteMap& part : parts) {
    const bool is_short = part.node_ != nullptr && part.node_->loops.empty() && part.node_->inside->parts.size() <= short_sequence;
    if (!is_short) {
      add(std::move(part));
    } else {
      for (const ByteMap& inner : part.node_->inside->parts) add(inner.shifted(part.offset_));
    }
  }
  return out;
}

// Lets parts of one form at a fixed distance be a loop. Two of many are left alone: any two are at a fixed distance.
std::vector<ByteMap> ByteMap::folded(std::vector<ByteMap> parts) {
  std::vector<ByteMap> out;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t after = first + 1;
    std::int64_t distance = 0;
    for (; after < parts.size() && parts[after].has_form_of(parts[first]); ++after) {
      const std::int64_t step = parts[after].offset_ - parts[after - 1].offset_;
      if (after == first + 1) distance = step;
      if (step != distance) break;
    }
    if (after - first < 3 && after - first < parts.size()) after = first + 1;
    out.push_back(parts[first].repeated(after - first, distance));
    first = after;
  }
  return out;
}

ByteMap ByteMap::sequence(std::vector<ByteMap> parts) {
  parts = joined(std::move(parts));
  for (std::size_t before = 0; before != parts.size() && parts.size() > 1;) {
    before = parts.size();
    parts = folded(std::move(parts));
  }
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts.front();
  Sequence sequence;
  Bytes end = 0;
  for (const ByteMap& part : parts) {
    sequence.ends.push_back(end += part.bytes_);
    sequence.each_is_one_visit = sequence.each_is_one_visit && part.visits(0, part.bytes_) == 1;
  }
  sequence.parts = std::move(parts);
  sequence.parts.shrink_to_fit();
  return of({}, end, std::make_shared<const Sequence>(std::move(sequence)));
}

std::int64_t ByteMap::offset_of(Bytes byte) const {
  std::int64_t offset = 0;
  for_each(byte, 1, [&](const StridedBlocks& blocks) { offset = blocks.offset; });
  return offset;
}

std::uint64_t ByteMap::visits(Bytes first, Bytes count) const {
  if (count == 0) return 0;
  if (node_ == nullptr) return 1;
  return count == bytes_ ? node_->visits : visits_in(node_->loops, bytes_, first, count);
}

// Follows walk_loops and walk_inside.
std::uint64_t ByteMap::visits_in(std::span<const Loop> loops, Bytes loop_bytes, Bytes first, Bytes count) const {
  std::uint64_t visits = 0;
  if (loops.empty()) {
    if (node_->inside == nullptr) return 1;
    const Sequence& sequence = *node_->inside;
    if (sequence.each_is_one_visit) {
      // A part of it may be more: a regular part is entered at some depth and left at another.
      const std::size_t from = sequence.part_of(first), to = sequence.part_of(first + count - 1);
      const auto in = [&](std::size_t part) {
        const Bytes begin = std::max(first, sequence.begin_of(part)), end = std::min(first + count, sequence.ends[part]);
        return sequence.parts[part].visits(begin - sequence.begin_of(part), end - begin);
      };
      return from == to ? in(from) : in(from) + (to - from - 1) + in(to);
    }
    for (std::size_t part = sequence.part_of(first); count != 0; ++part) {
      const Bytes here = std::min(count, sequence.ends[part] - first);
      visits += sequence.parts[part].visits(first - sequence.begin_of(part), here);
      first += here, count -= here;
    }
    return visits;
  }
  const Bytes one = loop_bytes / loops.front().count;
  const auto inner = loops.subspan(1);
  if (const Bytes skipped = first % one; skipped != 0 || count < one) {
    const Bytes head = std::min(count, one - skipped);
    visits += visits_in(inner, one, skipped, head);
    count -= head;
  }
  if (const std::uint64_t whole = count / one; whole != 0) {
    visits += node_->inside == nullptr ? 1 : whole * visits_in(inner, one, 0, one);
    count %= one;
  }
  if (count != 0) visits += visits_in(inner, one, 0, count);
  return visits;
}

}  // namespace glean::mpiio
