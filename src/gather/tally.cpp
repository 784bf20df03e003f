// SPDX-License-Identifier: BSD-3-Clause
#include "gather/tally.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace glean::gather {
namespace {

constexpr Bytes page_bytes = 4096;

Bytes in_pages(Bytes bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace

// Without the file nothing is known: every question counts.
Tally::Tally(const std::string& root) : descriptor_(open((root + "/tally").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  State state;
  if (descriptor_ >= 0 && pread(descriptor_, &state, sizeof state, 0) == static_cast<ssize_t>(sizeof state)) state_ = state;
}

Tally::~Tally() {
  if (descriptor_ < 0) return;
  const bool is_kept = !has_changed_ || pwrite(descriptor_, &state_, sizeof state_, 0) == static_cast<ssize_t>(sizeof state_);
  if (!is_kept) static_cast<void>(ftruncate(descriptor_, 0));   // no memory is left: the next question counts
  close(descriptor_);
}

void Tally::change() {
  ++state_.changes;
  has_changed_ = true;
}

bool Tally::is_to_be_counted(std::uint64_t times) const {
  return state_.is_counted == 0 || state_.changes * times >= state_.entries;
}

void Tally::set(const Count& count) {
  state_ = {1, count.used, count.entries, count.open_files, 0, state_.looked_at + count.entries};
  has_changed_ = true;
}

void Tally::opened(Bytes expected) {
  change();
  ++state_.open_files;
  state_.used += in_pages(expected);
}

void Tally::brought_out(Bytes bytes) {
  change();
  state_.used += in_pages(bytes);
}

void Tally::closed(Bytes beyond, bool is_here) {
  if (!is_here && beyond == 0) return;
  change();
  if (beyond > 0) state_.used += in_pages(beyond) * std::max<std::uint64_t>(state_.open_files, is_here ? 1 : 0);
  if (is_here && state_.open_files > 0) --state_.open_files;
}

void Tally::removed(Bytes bytes) {
  change();
  state_.used -= std::min(state_.used, bytes);
}

void Tally::forget_count() {
  state_.is_counted = 0;
  has_changed_ = true;
}

}  // namespace glean::gather
