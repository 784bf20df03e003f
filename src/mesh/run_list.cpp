// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/run_list.hpp"

#include "base/error.hpp"

namespace glean::mesh {
namespace {

constexpr Bytes farthest = std::numeric_limits<std::uint32_t>::max();   // of a run from the first one
constexpr Bytes last_begin = base::largest_offset - 2 * farthest;                 // so that the end needs no look

[[noreturn]] void refuse() { throw base::Error(base::Errc::invalid_argument, "runs of file bytes are not in order"); }

}  // namespace

RunList::RunList(Bytes begin, Bytes bytes, std::span<const ListedRun> runs) : begin_(begin), bytes_(bytes), runs_(runs) {
  if (runs.empty() || runs[0] != ListedRun{} || bytes > farthest || begin > last_begin) refuse();
  for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
    if (runs[run + 1].source <= runs[run].source || runs[run + 1].offset < end_of(run)) refuse();
  }
  if (bytes <= runs.back().source) refuse();
}

std::size_t RunList::first_ending_after(Bytes file_offset) const {
  if (file_offset <= begin_) return 0;
  // The last run that begins at or before it, or the one behind that.
  const auto begins_after = [&](Bytes offset, const ListedRun& run) { return offset < begin_ + run.offset; };
  const auto next = static_cast<std::size_t>(std::upper_bound(runs_.begin(), runs_.end(), file_offset, begins_after) - runs_.begin());
  return begin_ + end_of(next - 1) > file_offset ? next - 1 : next;
}

Bytes RunList::bytes_before(Bytes file_offset) const {
  const std::size_t run = first_ending_after(file_offset);
  if (run == runs_.size()) return bytes_;
  const Bytes position = begin_ + runs_[run].offset;
  return runs_[run].source + (file_offset > position ? file_offset - position : 0);
}

std::optional<Bytes> RunList::next_byte(Bytes file_offset) const {
  const std::size_t run = first_ending_after(file_offset);
  if (run == runs_.size()) return std::nullopt;
  return std::max(begin_ + runs_[run].offset, file_offset);
}

bool RunListBuilder::add(Bytes offset, Bytes bytes) {
  if (runs_.empty()) {
    if (offset > last_begin) return false;
    begin_ = end_ = offset;
  } else if (offset < end_ || offset - begin_ > farthest) {
    return false;
  }
  const bool goes_on = !runs_.empty() && offset == end_;
  const Bytes table = (runs_.size() + (goes_on ? 0 : 1)) * sizeof(ListedRun);
  if (RecordedRunList::table_offset(bytes_ + bytes) + table > most_bytes_) return false;
  if (!goes_on) runs_.push_back({static_cast<std::uint32_t>(offset - begin_), static_cast<std::uint32_t>(bytes_)});
  end_ = offset + bytes;
  bytes_ += bytes;
  return true;
}

void RunListBuilder::clear() {
  runs_.clear();
  begin_ = end_ = bytes_ = 0;
}

std::optional<RecordedRunList> RecordedRunList::decode(std::span<const std::uint64_t> words) {
  if (words.size() != 4 || words[1] != 0 || words[2] == 0) return std::nullopt;
  return RecordedRunList{words[0], words[2], words[3]};
}

RunList RecordedRunList::in(std::span<const std::byte> payload, Bytes bytes) const {
  const bool fits = bytes <= payload.size() && runs <= payload.size() / sizeof(ListedRun) && payload_bytes(bytes) <= payload.size();
  if (!fits) refuse();
  const std::byte* const table = payload.data() + table_offset(bytes);
  if (reinterpret_cast<std::uintptr_t>(table) % alignof(ListedRun) != 0) refuse();
  RunList list(begin, bytes, {reinterpret_cast<const ListedRun*>(table), static_cast<std::size_t>(runs)});
  if (list.file_extent().size() != extent) refuse();
  return list;
}

}  // namespace glean::mesh
