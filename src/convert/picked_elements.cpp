// SPDX-License-Identifier: BSD-3-Clause
#include "convert/picked_elements.hpp"

#include <algorithm>
#include <cstring>

#include "analysis/values.hpp"

namespace glean::convert {
namespace {

constexpr Bytes buffer_bytes = 4 * base::MiB;
// What is fetched rather than left out between two elements: reading it costs less than another request.
constexpr Bytes gap_most = 16 * base::KiB;
constexpr std::uint64_t sparse = 8;   // one element in so many

template <std::size_t size>
void take_every(const std::byte* from, Bytes step, std::uint64_t count, std::byte*& into) {
  for (std::uint64_t i = 0; i < count; ++i, from += step, into += size) std::memcpy(into, from, size);
}

void take_row(const std::byte* from, std::size_t size, std::uint64_t step, std::uint64_t count, std::byte*& into) {
  if (step == 1) {
    std::memcpy(into, from, count * size);
    into += count * size;
    return;
  }
  switch (size) {
    case 1: return take_every<1>(from, step, count, into);
    case 2: return take_every<2>(from, step * 2, count, into);
    case 4: return take_every<4>(from, step * 4, count, into);
    default: return take_every<8>(from, step * 8, count, into);
  }
}

}   // namespace

PickedElements::PickedElements(const Source& source, const std::vector<reduce::Pick>& picks)
    : source_(source), picks_(picks), buffer_(buffer_bytes) {}

std::span<const std::byte> PickedElements::fetch(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) {
  const base::Extent extent = source_.extent(variable, record, first, count);
  const std::span<std::byte> into(buffer_.data(), extent.size());
  source_.read(extent, into);
  return into;
}

void PickedElements::read_row(int variable, std::uint64_t record, const Level& row, std::uint64_t base, std::byte*& into) {
  const std::size_t size = mesh::size_of(source_.layout(variable).external);
  const std::uint64_t at_once = row.step * size > gap_most ? 1 : std::max<std::uint64_t>(1, buffer_bytes / size / row.step);
  for (std::uint64_t done = 0; done < row.count;) {
    const std::uint64_t count = std::min(at_once, row.count - done), first = base + (row.first + done * row.step) * row.stride;
    const auto found = fetch(variable, record, first, (count - 1) * row.step * row.stride + 1);
    take_row(found.data(), size, row.step * row.stride, count, into);
    done += count;
  }
}

// In memory, where all of it is.
void take(const std::byte* from, std::size_t size, std::span<const std::uint64_t> counts, std::span<const std::uint64_t> strides,
          std::byte*& into) {
  if (counts.size() == 1) return take_row(from, size, strides[0], counts[0], into);
  for (std::uint64_t i = 0; i < counts[0]; ++i) take(from + i * strides[0] * size, size, counts.subspan(1), strides.subspan(1), into);
}

void PickedElements::read_level(int variable, std::uint64_t record, const std::vector<Level>& levels, std::size_t level, std::uint64_t base,
                                std::byte*& into) {
  const Level& here = levels[level];
  const std::size_t size = mesh::size_of(source_.layout(variable).external);
  const bool is_row = level + 1 == levels.size();
  const bool is_dense = here.picked * sparse >= here.span || here.span * size <= gap_most;
  if (!is_dense || here.span * size > buffer_bytes) {
    if (is_row) return read_row(variable, record, here, base, into);
    for (std::uint64_t i = 0; i < here.count; ++i) {
      read_level(variable, record, levels, level + 1, base + (here.first + i * here.step) * here.stride, into);
    }
    return;
  }
  std::uint64_t first = base;
  std::vector<std::uint64_t> counts, strides;
  for (std::size_t inner = level; inner < levels.size(); ++inner) {
    first += levels[inner].first * levels[inner].stride;
    counts.push_back(levels[inner].count);
    strides.push_back(levels[inner].step * levels[inner].stride);
  }
  take(fetch(variable, record, first, here.span).data(), size, counts, strides, into);
}

void PickedElements::read_record(int variable, std::uint64_t record, const std::vector<Level>& levels, std::byte*& into) {
  if (!levels.empty()) return read_level(variable, record, levels, 0, 0, into);
  const auto found = fetch(variable, record, 0, 1);
  std::memcpy(into, found.data(), found.size());
  into += found.size();
}

void PickedElements::read(int variable, const mesh::Box& box, std::span<std::byte> into) {
  const bool per_step = source_.definitions().per_step(variable);
  const std::vector<int>& dimensions = source_.variable(variable).dimensions;
  const mesh::Shape& shape = source_.layout(variable).shape;
  const std::size_t outside = per_step ? 1 : 0;
  std::vector<Level> levels(shape.size());
  std::uint64_t stride = 1, span = 1, picked = 1;
  for (std::size_t l = levels.size(); l-- > 0;) {
    const reduce::Pick& pick = picks_[static_cast<std::size_t>(dimensions[l + outside])];
    const std::uint64_t count = box.count[l + outside];
    span += (count - 1) * pick.step * stride;
    picked *= count;
    levels[l] = {pick.at(box.start[l + outside]), pick.step, count, stride, span, picked};
    stride *= shape[l];
  }
  std::byte* at = into.data();
  if (!per_step) return read_record(variable, 0, levels, at);
  const reduce::Pick& records = picks_[static_cast<std::size_t>(dimensions[0])];
  for (std::uint64_t r = 0; r < box.count[0]; ++r) read_record(variable, records.at(box.start[0] + r), levels, at);
}

void PickedElements::read(int variable, const mesh::Box& box, std::span<double> into) {
  const mesh::Type type = source_.layout(variable).external;
  raw_.resize(into.size() * mesh::size_of(type));
  read(variable, box, std::span<std::byte>(raw_));
  std::span<const std::byte> rest(raw_);
  analysis::Block block;
  for (std::size_t done = 0; done < into.size();) {
    const auto some = analysis::next_block(rest, type, true, block);
    std::copy(some.begin(), some.end(), into.begin() + static_cast<std::ptrdiff_t>(done));
    done += some.size();
    rest = rest.subspan(some.size() * mesh::size_of(type));
  }
}

mesh::Shape window_shape(const mesh::Shape& shape, std::uint64_t elements_most, bool one_record) {
  mesh::Shape window = shape;
  std::uint64_t inside = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    // All dimensions inside of the first that is cut are whole, and those outside of it have one index.
    window[d] = std::min(shape[d], std::max<std::uint64_t>(1, elements_most / inside));
    if (one_record && d == 0) window[d] = std::min<std::uint64_t>(shape[d], 1);
    inside = window[d] < shape[d] ? elements_most : inside * shape[d];
  }
  return window;
}

void for_each_window(const mesh::Shape& shape, std::uint64_t elements_most, bool one_record,
                     const std::function<void(const mesh::Box&)>& use) {
  if (shape.empty()) return use({});
  if (mesh::whole(shape).empty()) return;
  const mesh::Shape window = window_shape(shape, elements_most, one_record);
  mesh::Box box{mesh::Shape(shape.size(), 0), window};
  for (;;) {
    for (std::size_t d = 0; d < shape.size(); ++d) box.count[d] = std::min(window[d], shape[d] - box.start[d]);
    use(box);
    std::size_t d = shape.size();
    while (d > 0 && (box.start[d - 1] += window[d - 1]) >= shape[d - 1]) box.start[--d] = 0;
    if (d == 0) return;
  }
}

}   // namespace glean::convert
