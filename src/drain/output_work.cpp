// SPDX-License-Identifier: BSD-3-Clause
#include "drain/output_work.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "drain/node_share.hpp"

namespace glean::drain {

void OutputWork::divide() {
  const plan::FileShare& share = output_.description.share;
  if (share.first + share.nodes != static_cast<std::int64_t>(output_.pool.header().nodes) || share.request_bytes > request_bytes_) {
    throw base::Error(base::Errc::io, "what the pool says of which node writes '" + output_.trace.path + "' is damaged");
  }
  if (share.request_bytes != 0) request_bytes_ = share.request_bytes;
  output_.trace.request_bytes = request_bytes_;
  output_.trace.aggregators = share.aggregators;
  if (output_.nodes != nullptr) output_.nodes->divide(output_.description.writers());
}

void OutputWork::keep(std::unique_ptr<PendingPiece> pending) {
  const pool::Record* const record = pending->record;
  pieces_.emplace(record, std::move(pending));
}

store::Window& OutputWork::add(std::uint64_t index, Bytes bytes) {
  store::Window& window = gathered_[index];
  window.extent = {index * request_bytes_, (index + 1) * request_bytes_};
  window.may_overlap = may_overlap_;
  window.bytes += bytes;
  waiting_bytes_ += bytes;
  if (window.bytes >= request_bytes_ && !on_their_way_.contains(index)) full_.insert(index);
  return window;
}

void OutputWork::gather(PendingPiece& pending) {
  const Extent extent = pending.piece.file_extent();
  reach(extent.end);
  Bytes before = 0;
  for (std::optional<Bytes> at = extent.begin; at;) {
    const std::uint64_t index = *at / request_bytes_;
    const Bytes window_end = (index + 1) * request_bytes_, up_to_end = pending.piece.bytes_before(window_end);
    if (output_.nodes != nullptr && !output_.nodes->is_mine(index)) {
      output_.nodes->hand_over(pending, index, {before, up_to_end});
    } else {
      add(index, up_to_end - before).parts.push_back({&pending, up_to_end - before});
    }
    before = up_to_end;
    at = before == pending.piece.file_bytes() ? std::nullopt : pending.piece.next_byte(window_end);
  }
}

void OutputWork::gather_again(PendingPiece& pending, int node) {
  Bytes before = 0;
  for (std::optional<Bytes> at = pending.piece.file_extent().begin; at;) {
    const std::uint64_t index = *at / request_bytes_;
    const Bytes window_end = (index + 1) * request_bytes_, up_to_end = pending.piece.bytes_before(window_end);
    if (output_.nodes->is_of(index, node)) {
      pending.unwritten_bytes += up_to_end - before;
      output_.nodes->hand_over(pending, index, {before, up_to_end});
    }
    before = up_to_end;
    at = before == pending.piece.file_bytes() ? std::nullopt : pending.piece.next_byte(window_end);
  }
}

std::uint64_t OutputWork::gather_fill(const store::VariableLayout& variable, Extent extent, std::uint64_t step) {
  std::uint64_t windows = 0;
  for (std::uint64_t index = extent.begin / request_bytes_; index * request_bytes_ < extent.end; ++index) {
    if (output_.nodes != nullptr && !output_.nodes->is_mine(index)) continue;
    const Bytes bytes = std::min(extent.end, (index + 1) * request_bytes_) - std::max(extent.begin, index * request_bytes_);
    add(index, bytes).fills.push_back({&variable, extent, step});
    ++windows;
  }
  return windows;
}

void OutputWork::queue(Job::Kind kind, std::shared_ptr<store::Window> window) {
  ++in_flight_;
  jobs_.add({.kind = kind, .output = &owner_, .window = std::move(window)});
}

void OutputWork::queue(Relief relief) {
  const auto queue_window = [this](auto it) {
    // What comes later must not be in the file before it.
    if (may_overlap_ && !on_their_way_.insert(it->first).second) return;
    queue(Job::Kind::window, std::make_shared<store::Window>(std::move(it->second)));
    gathered_.erase(it);
  };
  const auto full = std::exchange(full_, {});
  if (relief == Relief::everything) {
    for (auto it = gathered_.begin(); it != gathered_.end();) queue_window(it++);
  } else {
    for (const std::uint64_t index : full) {
      if (const auto it = gathered_.find(index); it != gathered_.end()) queue_window(it);
    }
  }
}

void OutputWork::written(const store::Window& window) {
  waiting_bytes_ -= std::min(waiting_bytes_, window.bytes);
  if (!may_overlap_) return;
  const std::uint64_t index = window.extent.begin / request_bytes_;
  on_their_way_.erase(index);
  const auto it = gathered_.find(index);
  if (it != gathered_.end() && it->second.bytes >= request_bytes_) full_.insert(index);
}

PendingPiece* OutputWork::find(const pool::Record* record) const {
  const auto it = pieces_.find(record);
  return it == pieces_.end() ? nullptr : it->second.get();
}

void OutputWork::drop() {
  waiting_bytes_ = 0;
  gathered_.clear();
  full_.clear();
  in_flight_ -= static_cast<int>(jobs_.drop(&owner_));
  blocks_.forget(output_.key);
}

void OutputWork::retire_all() {
  for (const auto& [record, pending] : pieces_) output_.retire(*pending);
  pieces_.clear();
}

}  // namespace glean::drain
