// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/pattern.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

namespace glean::mesh {
namespace {


}  // namespace

Pattern Pattern::from_box(std::span<const std::uint64_t> shape, const Box& box, Bytes element_bytes, Bytes begin) {
  Pattern pattern{.offset = begin, .block_bytes = element_bytes, .levels = std::vector<Level>(shape.size())};
  Bytes stride = element_bytes;
  for (std::size_t d = shape.size(); d-- > 0;) {
    pattern.offset += box.start[d] * stride;
    pattern.levels[d] = {box.count[d], stride};
    stride *= shape[d];
  }
  return pattern.canonical();
}

bool Pattern::is_valid() const {
  if (offset > base::largest_offset) return false;
  if (block_bytes == 0) return levels.empty();
  const Bytes room = base::largest_offset - offset;
  Bytes extent = block_bytes;   // of what is inside of the level
  if (extent > room) return false;
  for (std::size_t l = levels.size(); l-- > 0;) {
    const auto& [count, stride] = levels[l];
    if (count == 0) return false;
    if (count == 1) continue;
    if (stride < extent || (count - 1) > (room - extent) / stride) return false;
    extent += (count - 1) * stride;
  }
  return true;
}

Pattern Pattern::canonical() const {
  Pattern merged{.offset = offset, .block_bytes = block_bytes, .levels = {}};
  if (bytes() == 0) {
    merged.block_bytes = 0;
    return merged;
  }
  auto& inside = merged.levels;   // fastest first, until the end
  for (std::size_t l = levels.size(); l-- > 0;) {
    const Level& level = levels[l];
    if (level.count == 1) continue;
    if (inside.empty() && level.stride == merged.block_bytes) {
      merged.block_bytes *= level.count;
    } else if (!inside.empty() && level.stride == inside.back().count * inside.back().stride) {
      inside.back().count *= level.count;
    } else {
      inside.push_back(level);
    }
  }
  std::reverse(inside.begin(), inside.end());
  return merged;
}

std::uint64_t Pattern::runs() const {
  std::uint64_t runs = block_bytes == 0 ? 0 : 1;
  for (const Level& level : levels) runs *= level.count;
  return runs;
}

Bytes Pattern::end() const {
  const std::uint64_t count = runs();
  return count == 0 ? offset : position_of_run(count - 1) + block_bytes;
}

Bytes Pattern::position_of_run(std::uint64_t run) const {
  Bytes position = offset;
  for (std::size_t l = levels.size(); l-- > 0;) {
    position += run % levels[l].count * levels[l].stride;
    run /= levels[l].count;
  }
  return position;
}

std::uint64_t Pattern::first_run_ending_after(Bytes file_offset) const {
  // A run ends after `file_offset` when it starts after file_offset - block_bytes.
  if (file_offset < offset + block_bytes) return 0;
  Bytes rest = file_offset - block_bytes + 1 - offset;
  std::uint64_t runs_inside = runs();
  std::uint64_t run = 0;
  for (const auto& [count, stride] : levels) {
    if (count == 1) continue;
    runs_inside /= count;
    const std::uint64_t index = rest / stride;
    if (index >= count) return run + count * runs_inside;
    run += index * runs_inside;
    rest -= index * stride;
  }
  // What remains lies past the start of this run, and before that of the next.
  return rest == 0 ? run : run + 1;
}

Bytes Pattern::file_offset(Bytes stream_byte) const {
  return position_of_run(stream_byte / block_bytes) + stream_byte % block_bytes;
}

Bytes Pattern::bytes_before(Bytes file_offset) const {
  const std::uint64_t run = first_run_ending_after(file_offset);
  if (run >= runs()) return bytes();
  const Bytes position = position_of_run(run);
  return run * block_bytes + (file_offset > position ? file_offset - position : 0);
}

std::optional<Bytes> Pattern::next_byte(Bytes file_offset) const {
  const std::uint64_t run = first_run_ending_after(file_offset);
  if (run >= runs()) return std::nullopt;
  return std::max(position_of_run(run), file_offset);
}

std::vector<std::uint64_t> Pattern::encode() const {
  std::vector<std::uint64_t> words = {offset, block_bytes};
  words.reserve(2 + 2 * levels.size());
  for (const Level& level : levels) words.insert(words.end(), {level.count, level.stride});
  return words;
}

std::optional<Pattern> Pattern::decode(std::span<const std::uint64_t> words) {
  if (words.size() < 2 || words.size() % 2 != 0) return std::nullopt;
  Pattern pattern{.offset = words[0], .block_bytes = words[1], .levels = {}};
  for (std::size_t w = 2; w < words.size(); w += 2) pattern.levels.push_back({words[w], words[w + 1]});
  if (!pattern.is_valid()) return std::nullopt;
  return pattern;
}

PatternPart::PatternPart(Pattern pattern, Bytes first, Bytes bytes)
    : pattern_(std::move(pattern)), first_(first), bytes_(bytes) {
  if (!pattern_.is_valid() || bytes == 0 || bytes > pattern_.bytes() || first > pattern_.bytes() - bytes) {
    throw base::Error(base::Errc::invalid_argument, std::to_string(bytes) + " bytes from " + std::to_string(first) +
                                                        " do not lie in a pattern of file bytes");
  }
}

Extent PatternPart::file_extent() const {
  return {pattern_.file_offset(first_), pattern_.file_offset(first_ + bytes_ - 1) + 1};
}

Bytes PatternPart::bytes_before(Bytes file_offset) const {
  return std::clamp(pattern_.bytes_before(file_offset), first_, first_ + bytes_) - first_;
}

std::optional<Bytes> PatternPart::next_byte(Bytes file_offset) const {
  const auto [begin, end] = file_extent();
  if (file_offset >= end) return std::nullopt;
  return pattern_.next_byte(std::max(begin, file_offset));
}

}  // namespace glean::mesh
