// SPDX-License-Identifier: BSD-3-Clause
#include "drain/node_share.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "pool/futex.hpp"

namespace glean::drain {
namespace {

// For ranks that wait for a step. Of what ranks have left the exchange hears when it looks: a storage that refuses it on one node at once
// would find ranks of others that are just closing it.
void wake_exchange(const DrainedOutput& output) {
  if (!output.is_left_at_close()) pool::futex_signal(output.pool.header().progress);
}

}  // namespace

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
  const auto continues = [&](const ExchangeBlock& block) {
    return block.record == pending.record && block.node == node && first <= block.first_element + block.elements;
  };
  const bool is_spilled = pending.payload == nullptr;
  auto& queue = blocks_.queue;
  if (queue.empty() || !continues(queue.back())) {
    const pool::Record& record = *pending.record;
    ExchangeBlock block{.output = output_.key, .record = &record, .step = record.step, .variable = record.variable,
                        .job_rank = pending.job_rank, .memory = static_cast<mesh::Type>(record.memory_type), .box = {},
                        .first_element = first, .node = node, .payload = {}, .spilled_by = {}, .buffer = {}};
    block.box = pool::box_of(record);
    block.first = is_first_to(block);
    if (is_spilled) block.spilled_by = pending.journal->rank();
    queue.push_back(std::move(block));
    if (is_spilled) blocks_.to_read.push_back(std::prev(queue.end()));
    ++unsent_[step_of(record.step)];
  }
  ExchangeBlock& block = queue.back();
  block.elements = end - block.first_element;
  if (!is_spilled) block.payload = payload_of(block, pending.payload);
  block.file_bytes += bytes.size();
}

void NodeShare::begin_again(int node, const std::function<PendingPiece*(const pool::Record*)>& piece_of) {
  told_before_ = std::exchange(told_, {});
  std::erase_if(blocks_.queue, [&](const ExchangeBlock& block) {
    if (block.output != output_.key || block.node != node || block.spilled_by) return false;   // spilled: a thread may just read it
    --unsent_[step_of(block.step)];
    if (PendingPiece* const pending = piece_of(block.record)) pending->unwritten_bytes -= block.file_bytes;
    return true;
  });
}

// Records of a put follow each other in the journal of its rank, and no other put into the step has its box.
bool NodeShare::is_first_to(const ExchangeBlock& block) {
  Told& told = told_[block.job_rank];
  if (told.variable != block.variable || told.step != block.step || told.box != block.box) {
    told = {block.variable, block.step, block.box, {}};
  }
  return told.nodes.insert(block.node).second;
}

bool NodeShare::has_come_before(const pool::Record& record, const mesh::Box& box) {
  if (record.origin == pool::Origin::rank || !output_.may_come_again()) return false;
  std::vector<std::uint64_t> words(box.start.begin(), box.start.end());
  words.insert(words.end(), box.count.begin(), box.count.end());
  return !came_before_.emplace(record.variable, record.step, std::move(words), record.first_element, record.elements).second;
}

void NodeShare::arrived(const ExchangeBlock& block) {
  --unsent_[step_of(block.step)];
  output_.pool.header().written_bytes.fetch_add(block.file_bytes, std::memory_order_relaxed);
  if (!output_.is_sent()) return;
  output_.trace.bytes += block.file_bytes;
  output_.trace.written_ns = base::now_ns();
}

void NodeShare::look(const pool::RanksOfOutput& ranks) {
  const pool::OutputSlot& slot = output_.slot;
  const bool has_ended = std::exchange(seen_ended_, ranks.steps_ended) != ranks.steps_ended;
  const bool has_closed = std::exchange(seen_closed_, ranks.all_closed) != ranks.all_closed;
  if (has_ended || has_closed) wake_exchange(output_);
  output_.steps.complete = std::min(output_.steps.ended, slot.nodes.job_steps.load(std::memory_order_acquire));
  if (slot.nodes.job_output.load(std::memory_order_acquire) == 0) {   // the nodes do not know of it yet, and perhaps never will
    if (output_.ranks == Ranks::working && output_.pool.header().ranks == 0) output_.all_closed = false;   // no rank has
    return;
  }
  if (output_.ranks == Ranks::gone) return;
  output_.all_closed = have_all_closed();
  output_.steps.begun = std::max(output_.steps.begun, steps_begun());
}

void NodeShare::tell_sent(bool has_taken_all) {
  if (output_.is_sent() && !has_taken_all) return;
  while (!unsent_.empty() && unsent_.begin()->second == 0) unsent_.erase(unsent_.begin());
  const std::uint64_t sent = unsent_.empty() ? output_.steps.ended : std::min(unsent_.begin()->first, output_.steps.ended);
  if (output_.slot.nodes.steps_sent.exchange(sent) != sent) wake_exchange(output_);
}

std::uint64_t NodeShare::steps_ended() const {
  return output_.ranks == Ranks::gone ? output_.steps.ended : output_.slot.nodes.job_steps_ended.load(std::memory_order_acquire);
}

}  // namespace glean::drain
