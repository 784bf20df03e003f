// SPDX-License-Identifier: BSD-3-Clause
#include "store/windows/window.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace glean::store {
namespace {

class Assembly {
 public:
  Assembly(const Window& window, std::byte* buffer, const MayStay& may_stay)
      : window_(window), buffer_(buffer), may_stay_(may_stay), may_any_stay_(may_stay.least_bytes != 0 && is_each_byte_put_once()) {}

  void add(const TypedPiece& typed, const Load& load) {
    payload_ = typed.payload != nullptr ? typed.payload : load(typed);
    typed.piece.for_each_run(window_.extent, [&](Piece::Run run) { add_run(typed, run); });
  }

  void add_fill(const Window::FillPart& fill) {
    const std::size_t size = mesh::size_of(fill.variable->external);
    const Extent inside{std::max(fill.extent.begin, window_.extent.begin), std::min(fill.extent.end, window_.extent.end)};
    std::byte* target = buffer_ + (inside.begin - window_.extent.begin);
    const std::size_t phase = (inside.begin - fill.extent.begin) % size;
    Bytes filled = std::min<Bytes>(size, inside.size());
    for (Bytes i = 0; i < filled; ++i) target[i] = fill.variable->fill_value[(phase + i) % size];
    // What is there repeats itself.
    for (; filled < inside.size(); filled += std::min(filled, inside.size() - filled)) {
      std::memcpy(target + filled, target, std::min(filled, inside.size() - filled));
    }
    cover(inside);
  }

  Assembled finish() {
    std::sort(assembled_.in_place.begin(), assembled_.in_place.end(),
              [](const InPlace& a, const InPlace& b) { return a.extent.begin < b.extent.begin; });
    // Without overlaps, as many bytes as the span is long mean that it has no holes.
    if (total_ == last_ - first_ && !window_.may_overlap) {
      assembled_.runs.assign(1, {first_, last_});
    } else {
      auto& runs = assembled_.runs;
      sort_runs();
      std::size_t kept = 0;
      for (std::size_t i = 1; i < runs.size(); ++i) {
        if (runs[i].begin <= runs[kept].end) runs[kept].end = std::max(runs[kept].end, runs[i].end);
        else runs[++kept] = runs[i];
      }
      runs.resize(kept + 1);
    }
    return std::move(assembled_);
  }

 private:
  // Merges the sequences that ascend, one from each part of many runs, pairwise.
  void sort_runs() {
    auto& runs = assembled_.runs;
    const auto is_before = [](const Extent& a, const Extent& b) { return a.begin < b.begin; };
    const auto at = [&](std::size_t index) { return runs.begin() + static_cast<std::ptrdiff_t>(index); };
    descents_.push_back(runs.size());
    while (descents_.size() > 1) {   // where the sequences end
      std::size_t kept = 0, begin = 0;
      for (std::size_t i = 0; i + 1 < descents_.size(); i += 2) {
        std::inplace_merge(at(begin), at(descents_[i]), at(descents_[i + 1]), is_before);
        begin = descents_[kept++] = descents_[i + 1];
      }
      if (descents_.size() % 2 == 1) descents_[kept++] = descents_.back();
      descents_.resize(kept);
    }
  }

  void add_run(const TypedPiece& typed, Piece::Run run) {
    const std::size_t size = mesh::size_of(typed.variable->external);
    cover({std::max(run.file_offset, window_.extent.begin),
           std::min(run.file_offset + run.elements * size, window_.extent.end)});
    if (run.file_offset < window_.extent.begin) {
      add_cut_element(typed, run);
      ++run.source, --run.elements, run.file_offset += size;
    }
    if (run.elements == 0) return;
    if (run.file_offset + run.elements * size > window_.extent.end) {
      --run.elements;
      add_cut_element(typed, {run.source + run.elements, 1, run.file_offset + run.elements * size});
    }
    if (run.elements == 0) return;
    if (may_any_stay_ && typed.is_as_in_file && typed.payload != nullptr && stays(typed, run)) return;
    convert(typed, run, buffer_ + (run.file_offset - window_.extent.begin));
  }

  // What is looked at only where it costs little: few parts, without holes.
  [[nodiscard]] bool is_each_byte_put_once() const {
    constexpr std::size_t few = 256;
    if (!window_.may_overlap) return true;
    if (window_.parts.size() > few) return false;
    std::vector<Extent> extents;
    for (const auto& part : window_.parts) {
      const Piece& piece = part.typed->piece;
      const auto begin = piece.next_byte(window_.extent.begin);
      if (!begin || piece.bytes_before(*begin + part.bytes) - piece.bytes_before(*begin) != part.bytes) return false;
      extents.push_back({*begin, *begin + part.bytes});
    }
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    const auto meet = [](const Extent& a, const Extent& b) { return b.begin < a.end; };
    return window_.fills.empty() && std::adjacent_find(extents.begin(), extents.end(), meet) == extents.end();
  }

  // Whole blocks of a run; what is before and behind them goes into the buffer. False: nothing of it stays.
  bool stays(const TypedPiece& typed, const Piece::Run& run) {
    const std::byte* source = payload_ + run.source * typed.memory_bytes;
    const Extent all{run.file_offset, run.file_offset + run.elements * typed.memory_bytes};
    const Extent blocks{base::align_up(all.begin, may_stay_.block_bytes), base::align_down(all.end, may_stay_.block_bytes)};
    if (blocks.empty() || blocks.size() < may_stay_.least_bytes) return false;
    const auto address = static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(source));
    if (address % may_stay_.block_bytes != all.begin % may_stay_.block_bytes) return false;
    const auto copy = [&](Bytes begin, Bytes end) {
      std::memcpy(buffer_ + (begin - window_.extent.begin), source + (begin - all.begin), end - begin);
    };
    copy(all.begin, blocks.begin);
    copy(blocks.end, all.end);
    assembled_.in_place.push_back({blocks, source + (blocks.begin - all.begin)});
    return true;
  }

  // An element that the window's edge cuts: its other part belongs to the neighbour.
  void add_cut_element(const TypedPiece& typed, const Piece::Run& run) {
    std::array<std::byte, 8> element{};
    // Both windows convert it, but only the one where it begins counts it.
    const bool counts = run.file_offset >= window_.extent.begin;
    convert(typed, {run.source, 1, run.file_offset}, element.data(), counts);
    const std::size_t size = mesh::size_of(typed.variable->external);
    for (std::size_t i = 0; i < size; ++i) {
      const Bytes at = run.file_offset + i;
      if (at >= window_.extent.begin && at < window_.extent.end) buffer_[at - window_.extent.begin] = element[i];
    }
  }

  void convert(const TypedPiece& typed, const Piece::Run& run, std::byte* target, bool counts = true) {
    const std::byte* source = payload_ + run.source * typed.memory_bytes;
    const auto result = typed.convert(source, target, run.elements,
                                        typed.variable->fill_value.data());
    if (result.count == 0 || !counts) return;
    if (assembled_.range_errors == 0) {
      RangeError& first = assembled_.first_range_error;
      first = {&typed, run.source + result.first, {}};
      std::memcpy(first.value.data(), source + result.first * typed.memory_bytes, typed.memory_bytes);
    }
    assembled_.range_errors += result.count;
  }

  void cover(Extent extent) {
    auto& runs = assembled_.runs;
    if (runs.empty()) first_ = extent.begin;
    first_ = std::min(first_, extent.begin);
    last_ = std::max(last_, extent.end);
    total_ += extent.size();
    if (!runs.empty() && runs.back().end == extent.begin) {
      runs.back().end = extent.end;
      return;
    }
    if (!runs.empty() && extent.begin < runs.back().begin) descents_.push_back(runs.size());
    runs.push_back(extent);
  }

  const Window& window_;
  std::byte* buffer_;
  const MayStay& may_stay_;
  const bool may_any_stay_;
  const std::byte* payload_ = nullptr;   // of the piece that is added
  Assembled assembled_;
  std::vector<std::size_t> descents_;   // which runs begin before the one that was added before them
  Bytes first_ = 0, last_ = 0, total_ = 0;
};

}  // namespace

Assembled assemble(const Window& window, std::byte* buffer, const Load& load, const MayStay& may_stay) {
  Assembly assembly(window, buffer, may_stay);
  for (const auto& fill : window.fills) assembly.add_fill(fill);
  for (const auto& part : window.parts) assembly.add(*part.typed, load);
  return assembly.finish();
}

}  // namespace glean::store
