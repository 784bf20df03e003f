// SPDX-License-Identifier: BSD-3-Clause
#include "session/place_writer.hpp"

#include <algorithm>

namespace glean::session {
namespace {

using base::Bytes;

constexpr std::uint64_t worth_a_list = 16;   // places
// From here on a record is little beside the bytes.
constexpr Bytes worth_a_write = 16 * base::KiB;

// Several fit into a list.
Bytes small_in(Bytes most_of_list) { return std::min(worth_a_write, most_of_list / 4); }

}  // namespace

PlaceWriter::PlaceWriter(ByteOutput& output, std::uint32_t collective_count, const ByteOutput::CopyOut& copy_out, std::uint64_t places,
                         std::uint32_t variable)
    : output_(output), collective_count_(collective_count), copy_out_(copy_out), variable_(variable),
      small_(places < worth_a_list ? 0 : small_in(output.most_of_list())), list_(output.most_of_list()) {}

void PlaceWriter::add(const mesh::Pattern& place) {
  const Bytes bytes = place.bytes();
  if (bytes < small_ && bytes + place.runs() * sizeof(mesh::ListedRun) < small_) {
    const auto add_one = [this](const mesh::Pattern::Run& run) { add_run(run.file_offset, run.bytes); };
    place.for_each_run(0, bytes, {place.offset, place.end()}, add_one);
    return;
  }
  finish();
  output_.write(collective_count_, place, added_, copy_out_, variable_);
  added_ += bytes;
}

void PlaceWriter::add_run(Bytes offset, Bytes bytes) {
  if (list_.empty()) first_ = added_;
  if (!list_.add(offset, bytes)) {
    finish();
    first_ = added_;
    // An empty one has room for what is small, unless no list reaches so far.
    if (!list_.add(offset, bytes)) {
      output_.write(collective_count_, {.offset = offset, .block_bytes = bytes, .levels = {}}, added_, copy_out_, variable_);
    }
  }
  added_ += bytes;
}

void PlaceWriter::finish() {
  output_.write(collective_count_, list_, first_, copy_out_, variable_);
  list_.clear();
}

std::uint64_t PlaceWriter::writes_for(const ByteOutput& output, Bytes bytes, std::uint64_t places, base::Extent extent,
                                      std::uint64_t descents) {
  const Bytes most = output.most_of_list(), small = small_in(most);
  if (small == 0) return places;
  // A place that is not small has so many bytes, or runs whose table would. A list ends at one, or when it is full, which is when more than
  // half of it is, or when the file goes on too far behind its beginning, or at a descent.
  const Bytes with_tables = bytes + bytes * sizeof(mesh::ListedRun);   // at most, where each run is a byte
  const std::uint64_t alone = with_tables / small;
  const std::uint64_t lists = alone + 2 * with_tables / most + (extent.size() >> 32) + descents + 1;
  return std::min(places, alone + lists);
}

}  // namespace glean::session
