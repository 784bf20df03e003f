// SPDX-License-Identifier: BSD-3-Clause
//
// What is captured of a raw output.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "session/byte_output.hpp"
#include "session/core.hpp"
#include "session/place_writer.hpp"
#include "store/posix/file_space.hpp"

namespace glean::session {
namespace {

// A copier of bytes that lie from byte `first` of a stream on.
capture::CopyOut from(base::Bytes first, const ByteOutput::CopyOut& copy_out) {
  return [first, &copy_out](base::Bytes begin, base::Bytes count, std::byte* target) { copy_out(first + begin, {target, count}); };
}

}  // namespace

// What the journal has of its place in the file: words, which are no box.
void ByteOutput::set_box(std::span<const std::uint64_t> words) {
  const auto middle = words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2);
  box_.start.assign(words.begin(), middle);
  box_.count.assign(middle, words.end());
}

// Before it is captured: what the drain cannot write spoils all of a new file.
void ByteOutput::check_reach(base::Bytes end) {
  check_end_at_stagers(end);
  if (end > longest_) longest_ = std::min(store::longest_of_process(), store::longest_of_file_system(working_path()));
  if (end > longest_) throw base::system_error(EFBIG, fmt::format("cannot write it up to byte {}", end));
}

// Captures bytes that reach to `end`.
template <class Capture>
void ByteOutput::take(base::Bytes end, base::Bytes bytes, Capture capture) {
  check_reach(end);
  begin_change(By::capture);
  if (const auto error = caught(capture)) {
    // It must not be published without these bytes. One in place is there anyway, and gets all that was captured.
    if (!is_in_place_ && !has_others()) {
      slot_.told.store(1);   // the program is, by this call
      pool::fail(slot_, static_cast<std::uint32_t>(error->code()), fmt::format("rank {}: {}", core_->rank(), error->what()), error->hint());
    }
    core_->recorder().ring_the_drain();
    throw base::Error(*error);
  }
  core_->figures().captured_bytes += bytes;
  ++core_->figures().puts;
  unannounced_bytes_ += bytes;
  if (unannounced_bytes_ < core_->pool().header().request_bytes) return;
  unannounced_bytes_ = 0;
  core_->keep_draining();
  core_->recorder().ring_the_drain();
}

void ByteOutput::write(std::uint32_t collective_count, const mesh::Pattern& place, base::Bytes first, const CopyOut& copy_out,
                       std::uint32_t variable) {
  if (place.bytes() == 0) return;
  take(place.end(), place.bytes(), [&] {
    set_box(place.encode());
    const auto wait = [this](const pool::WriteStamp& stamp) { wait_until_written(stamp); };
    core_->full_pool_policy().write({key_, full_, collective_count, &place, &box_, wait, variable}, from(first, copy_out));
  });
}

void ByteOutput::write(std::uint32_t collective_count, const mesh::RunListBuilder& list, base::Bytes first, const CopyOut& copy_out,
                       std::uint32_t variable) {
  if (list.empty()) return;
  if (list.runs().size() == 1) {
    return write(collective_count, {.offset = list.begin(), .block_bytes = list.bytes(), .levels = {}}, first, copy_out, variable);
  }
  take(list.end(), list.bytes(), [&] {
    set_box(mesh::RecordedRunList{list.begin(), list.runs().size(), list.end() - list.begin()}.encode());
    core_->full_pool_policy().write_list({key_, full_, collective_count, nullptr, &box_, {}, variable}, list, from(first, copy_out));
  });
}

// A quarter of a chunk: so what is left of one that does not hold the next list is little. Stagers are sent parts of patterns only, and
// what is spilled or written at once is a pattern's.
base::Bytes ByteOutput::most_of_list() const {
  const bool waits = full_ == base::WhenFull::block || full_ == base::WhenFull::drop;
  return waits && !core_->pool().is_staged() ? core_->pool().header().chunk_bytes / 4 : 0;
}

}  // namespace glean::session
