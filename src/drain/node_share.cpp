// SPDX-License-Identifier: BSD-3-Clause
#include "drain/node_share.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pool/futex.hpp"

namespace glean::drain {

bool NodeShare::is_mine(std::uint64_t window) {
  return !writers_ || writers_->node_of(window) == static_cast<std::int64_t>(output_.pool.header().node);
}

void NodeShare::hand_over(PendingPiece& pending, std::uint64_t window, Extent bytes) {
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
    Parcel parcel{.output = output_.key, .record = &record, .step = record.step, .variable = record.variable,
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
bool NodeShare::is_first_to(const Parcel& parcel) {
  Told& told = told_[parcel.job_rank];
  if (told.variable != parcel.variable || told.step != parcel.step || told.box != parcel.box) {
    told = {parcel.variable, parcel.step, parcel.box, {}};
  }
  return told.nodes.insert(parcel.node).second;
}

bool NodeShare::has_come_before(const pool::Record& record, const mesh::Box& box) {
  if (record.origin == pool::Origin::rank || output_.ranks == Ranks::working) return false;
  std::vector<std::uint64_t> words(box.start.begin(), box.start.end());
  words.insert(words.end(), box.count.begin(), box.count.end());
  return !came_before_.emplace(record.variable, record.step, std::move(words), record.first_element, record.elements).second;
}

void NodeShare::arrived(const Parcel& parcel) {
  --unsent_[parcel.step];
  output_.pool.header().written_bytes.fetch_add(parcel.file_bytes, std::memory_order_relaxed);
}

void NodeShare::look() {
  const pool::OutputSlot& slot = output_.slot;
  if (slot.job_output.load(std::memory_order_acquire) == 0) return;   // the nodes do not know of it yet, and perhaps never will
  output_.steps.complete = std::min(output_.steps.ended, slot.job_steps.load(std::memory_order_acquire));
  if (output_.ranks == Ranks::gone) return;
  output_.all_closed = have_all_closed();
  output_.steps.begun = std::max(output_.steps.begun, steps_begun());
}

void NodeShare::tell_sent() {
  while (!unsent_.empty() && unsent_.begin()->second == 0) unsent_.erase(unsent_.begin());
  const std::uint64_t sent = unsent_.empty() ? output_.steps.ended : std::min(unsent_.begin()->first, output_.steps.ended);
  if (output_.slot.steps_sent.exchange(sent) != sent) pool::futex_signal(output_.pool.header().progress);
}

std::uint64_t NodeShare::steps_ended() const {
  return output_.ranks == Ranks::gone ? output_.steps.ended : output_.slot.job_steps_ended.load(std::memory_order_acquire);
}

}  // namespace glean::drain
