// SPDX-License-Identifier: BSD-3-Clause
//
// An output that several nodes write: each the file domains that are its own (design.md, section 4, "Alignment").
#include <algorithm>
#include <iterator>
#include <utility>

#include "drain/output_drain.hpp"
#include "pool/futex.hpp"

namespace glean::drain {

void OutputDrain::take_share() {
  if (description_.is_bytes) return;
  const plan::FileShare& share = description_.share;
  if (share.nodes != static_cast<std::int64_t>(pool_.header().nodes) || share.request_bytes > request_bytes_) {
    throw base::Error(base::Errc::io, "what the pool says of who writes '" + trace_.path + "' is damaged");
  }
  if (share.request_bytes != 0) request_bytes_ = share.request_bytes;
  trace_.request_bytes = request_bytes_;
  trace_.aggregators = share.aggregators;
  if (pool_.is_shared()) writers_ = description_.writers();
}

bool OutputDrain::is_mine(std::uint64_t window) {
  return !writers_ || writers_->node_of(window) == static_cast<std::int64_t>(pool_.header().node);
}

// `bytes`: of the piece, in the window.
void OutputDrain::hand_over(PendingPiece& pending, std::uint64_t window, Extent bytes) {
  if (pending.record->origin != pool::Origin::rank) {   // its node sends the other domain's there itself
    pending.unwritten_bytes -= bytes.size();
    return;
  }
  const auto node = static_cast<int>(writers_->node_of(window));
  const std::size_t size = mesh::size_of(pending.variable->external);
  const std::uint64_t first = pending.record->first_element + bytes.begin / size;
  const std::uint64_t end = pending.record->first_element + (bytes.end + size - 1) / size;
  const auto continues = [&](const Parcel& parcel) {
    return parcel.record == pending.record && parcel.node == node &&
           first <= parcel.first_element + parcel.elements;
  };
  const bool is_spilled = pending.payload == nullptr;
  auto& parcels = parcels_.queue;
  if (parcels.empty() || !continues(parcels.back())) {
    const pool::Record& record = *pending.record;
    Parcel parcel{.output = key_, .record = &record, .step = record.step, .variable = record.variable,
                  .job_rank = pending.job_rank, .memory = static_cast<mesh::Type>(record.memory_type), .box = {}, .first_element = first,
                  .node = node, .payload = {}, .spilled_by = {}, .block = {}};
    parcel.box = pool::box_of(record);
    parcel.first = is_first_to(parcel);
    if (is_spilled) parcel.spilled_by = pending.journal->rank();
    parcels.push_back(std::move(parcel));
    if (is_spilled) parcels_.to_read.push_back(std::prev(parcels.end()));
    ++unsent_[record.step];
  }
  Parcel& parcel = parcels.back();
  parcel.elements = end - parcel.first_element;
  if (!is_spilled) parcel.payload = payload_of(parcel, pending.payload);
  parcel.file_bytes += bytes.size();
}

// Records of a put follow each other in the journal of its rank, and no other put into the step has its box.
bool OutputDrain::is_first_to(const Parcel& parcel) {
  Told& told = told_[parcel.job_rank];
  if (told.variable != parcel.variable || told.step != parcel.step || told.box != parcel.box) {
    told = {parcel.variable, parcel.step, parcel.box, {}};
  }
  return told.nodes.insert(parcel.node).second;
}

// A node that was killed before it knew that something had arrived sends it again.
bool OutputDrain::has_come_before(const pool::Record& record, const mesh::Box& box) {
  if (record.origin == pool::Origin::rank || ranks_ == Ranks::working) return false;
  std::vector<std::uint64_t> words(box.start.begin(), box.start.end());
  words.insert(words.end(), box.count.begin(), box.count.end());
  return !came_before_.emplace(record.variable, record.step, std::move(words), record.first_element, record.elements).second;
}

void OutputDrain::arrived(const Parcel& parcel) {
  if (failed_ || postponed_) return;
  --unsent_[parcel.step];
  pool_.header().written_bytes.fetch_add(parcel.file_bytes, std::memory_order_relaxed);
  if (const auto it = pieces_.find(parcel.record); it != pieces_.end()) part_written(*it->second, parcel.file_bytes);
}

void OutputDrain::look_at_nodes() {
  const auto get = [](const auto& word) { return word.load(std::memory_order_acquire); };
  if (get(slot_.job_output) == 0) return;   // the nodes do not know of it yet, and perhaps never will
  steps_complete_ = std::min(steps_ended_, get(slot_.job_steps));
  if (ranks_ == Ranks::gone) return;
  all_closed_ = get(slot_.job_closed) != 0 && !lacks_writes();
  steps_begun_ = std::max(steps_begun_, get(slot_.job_steps_begun));
}

// The records that `steps_ended_` speaks of have been read.
void OutputDrain::tell_other_nodes() {
  if (description_.is_bytes) tell_written_epoch();
  while (!unsent_.empty() && unsent_.begin()->second == 0) unsent_.erase(unsent_.begin());
  const std::uint64_t sent = unsent_.empty() ? steps_ended_ : std::min(unsent_.begin()->first, steps_ended_);
  if (slot_.steps_sent.exchange(sent) != sent) pool::futex_signal(pool_.header().progress);
}

std::uint64_t OutputDrain::all_steps() const {
  if (!pool_.is_shared()) return steps_complete_;
  return ranks_ == Ranks::gone ? steps_ended_ : slot_.job_steps_ended.load(std::memory_order_acquire);
}

// Its part of the file is made durable; when those of all nodes are, one of them publishes.
void OutputDrain::complete_part() {
  if (!std::exchange(part_queued_, true)) {
    synchronizing_ = true;
    return queue(Job::Kind::synchronize);
  }
  if (slot_.part_durable.exchange(1) == 0) pool::futex_signal(pool_.header().progress);
  if (publishes()) {
    if (slot_.job_parts_durable.load(std::memory_order_acquire) == 0) return;
    last_job_queued_ = true;
    queue(Job::Kind::publish);
  } else if (slot_.job_published.load(std::memory_order_acquire) != 0) {
    published();
  }
}

std::uint64_t OutputDrain::records() const {
  const std::uint64_t of_others = pool_.is_shared() ? slot_.job_records.load(std::memory_order_acquire) : 0;
  return std::min(std::max(records_, of_others), steps_written_);
}

Bytes OutputDrain::highest_end() const {
  return std::max(settled_end_, pool_.is_shared() ? slot_.job_highest_end.load(std::memory_order_acquire) : 0);
}

}  // namespace glean::drain
