// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/hdf5/chunk_index.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace glean::store {
namespace {

// Little-endian.
void append_number(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

[[noreturn]] void reject_chunks(const VariableLayout& variable) {
  throw base::Error(base::Errc::io, "the chunks of '" + variable.name + "' in an HDF5 file do not fit its layout");
}

}  // namespace

ChunkIndex::ChunkIndex(const VariableLayout& variable, const mesh::Shape& chunk) : variable_(variable), chunk_(chunk) {
  if (chunk.size() != variable.shape.size()) reject_chunks(variable);
  std::uint64_t bytes = mesh::size_of(variable.external), all = bytes;
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    if (chunk[d] == 0 || chunk[d] > variable.shape[d]) reject_chunks(variable);
    chunks_.push_back((variable.shape[d] - 1) / chunk[d] + 1);
    const bool is_too_large = __builtin_mul_overflow(bytes, chunk[d], &bytes) || __builtin_mul_overflow(all, chunk[d], &all) ||
                              __builtin_mul_overflow(all, chunks_[d], &all);
    if (is_too_large) reject_chunks(variable);
  }
  if (bytes > std::numeric_limits<std::uint32_t>::max() || all > variable.record_stride_bytes) reject_chunks(variable);
  chunk_bytes_ = bytes;
  chunks_per_record_ = all / bytes;
}

// A key has the size of a chunk, a mask of filters, and where the chunk begins in each dimension and within an element.
Bytes ChunkIndex::node_bytes() const {
  const Bytes key = 8 + 8 * (chunk_.size() + 2);
  return 24 + (children_most + 1) * key + children_most * 8;
}

std::vector<std::uint64_t> ChunkIndex::nodes_of_levels(std::uint64_t records) const {
  std::vector<std::uint64_t> levels;
  for (std::uint64_t below = records * chunks_per_record_; levels.empty() || below > 1; levels.push_back(below)) {
    below = below / children_most + (below % children_most != 0 ? 1 : 0);
  }
  return levels;
}

Bytes ChunkIndex::bytes(std::uint64_t records) const {
  if (records == 0) return 0;
  constexpr Bytes limit = std::numeric_limits<std::int64_t>::max();
  if (records > limit / chunks_per_record_ / node_bytes()) return limit;
  const auto levels = nodes_of_levels(records);
  return std::accumulate(levels.begin(), levels.end(), Bytes{0}) * node_bytes();
}

ChunkIndex::Written ChunkIndex::in_header(Bytes begin, std::uint64_t records) const {
  Patch room{begin, std::vector<std::byte>(bytes_in_header())};
  if (records == 0) return {no_hdf5_address, {std::move(room)}};
  const Written index = written({begin + node_bytes(), begin}, records);
  for (const Patch& nodes : index.nodes) {
    std::copy(nodes.bytes.begin(), nodes.bytes.end(), room.bytes.begin() + static_cast<std::ptrdiff_t>(nodes.offset - begin));
  }
  return {index.root, {std::move(room)}};
}

ChunkIndex::Written ChunkIndex::behind_data(Bytes begin, std::uint64_t records) const {
  std::vector<Bytes> begins;
  for (const std::uint64_t nodes : nodes_of_levels(records)) {
    begins.push_back(begin);
    begin += nodes * node_bytes();
  }
  return written(begins, records);
}

ChunkIndex::Written ChunkIndex::written(const std::vector<Bytes>& level_begins, std::uint64_t records) const {
  const auto levels = nodes_of_levels(records);
  Written result{level_begins.at(levels.size() - 1), {}};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    Patch& patch = result.nodes.emplace_back(Patch{level_begins[level], {}});
    patch.bytes.reserve(levels[level] * node_bytes());
    for (std::uint64_t node = 0; node < levels[level]; ++node) {
      append_node(patch.bytes, level_begins, level, node, records * chunks_per_record_);
    }
  }
  return result;
}

void ChunkIndex::append_node(std::vector<std::byte>& out, const std::vector<Bytes>& level_begins, std::size_t level, std::uint64_t node,
                             std::uint64_t chunks) const {
  std::uint64_t chunks_each = 1;   // below a child
  for (std::size_t l = 0; l < level; ++l) chunks_each *= children_most;
  const std::uint64_t all_children = (chunks - 1) / chunks_each + 1, first = node * children_most;
  const std::uint64_t children = std::min(children_most, all_children - first);
  const auto sibling = [&](std::uint64_t other) { return level_begins[level] + other * node_bytes(); };
  const std::size_t begin = out.size();
  for (const char c : std::string_view("TREE")) out.push_back(static_cast<std::byte>(c));
  append_number(out, 1, 1);   // of chunks
  append_number(out, level, 1);
  append_number(out, children, 2);
  append_number(out, node == 0 ? no_hdf5_address : sibling(node - 1), 8);
  append_number(out, first + children == all_children ? no_hdf5_address : sibling(node + 1), 8);
  for (std::uint64_t child = first; child < first + children; ++child) {
    append_key(out, child * chunks_each, false);
    append_number(out, level == 0 ? address(child) : level_begins[level - 1] + child * node_bytes(), 8);
  }
  const bool is_last = first + children == all_children;
  append_key(out, is_last ? chunks - 1 : (first + children) * chunks_each, is_last);
  out.resize(begin + node_bytes());
}

// The last key of all is one chunk further in every dimension than the last chunk, as the library writes it.
void ChunkIndex::append_key(std::vector<std::byte>& out, std::uint64_t index, bool is_behind_last) const {
  const std::uint64_t one = is_behind_last ? 1 : 0;
  append_number(out, is_behind_last ? 0 : chunk_bytes_, 4);
  append_number(out, 0, 4);   // no filter is left out
  append_number(out, index / chunks_per_record_ + one, 8);
  std::uint64_t rest = index % chunks_per_record_, each = chunks_per_record_;
  for (std::size_t d = 0; d < chunk_.size(); ++d) {
    each /= chunks_[d];
    append_number(out, (rest / each + one) * chunk_[d], 8);
    rest %= each;
  }
  append_number(out, one * mesh::size_of(variable_.external), 8);
}

Bytes ChunkIndex::address(std::uint64_t index) const {
  return variable_.record_begin_bytes(index / chunks_per_record_) + index % chunks_per_record_ * chunk_bytes_;
}

}  // namespace glean::store
