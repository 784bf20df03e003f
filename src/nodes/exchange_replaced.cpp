// SPDX-License-Identifier: BSD-3-Clause
//
// A stager whose process has ended and has another one in its place: that one knows what stands in the pool, and nothing of what was on the
// way. Figures of progress only grow and blocks are passed over that have come before, so the other nodes tell it all that it may lack.
#include <algorithm>
#include <utility>

#include "nodes/exchange.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/shared_position.hpp"

namespace glean::nodes {
namespace {

pool::OutputEnd end_of(const pool::OutputSlot& slot) {
  const bool is_published = slot.state.load(std::memory_order_acquire) == pool::OutputState::published ||
                            slot.nodes.job_published.load(std::memory_order_acquire) != 0;
  return is_published ? pool::OutputEnd::published : pool::OutputEnd::failed;
}

}  // namespace

// After everything by which messages move, before anything else is said to the process that has the place now, or heard of it.
void Exchange::notice_replaced() {
  for (const int peer : all_.messages.take_replaced()) on_replaced(peer);
}

void Exchange::on_replaced(int peer) {
  forget_what_came_from(peer);
  send_again_to(peer);
  if (keeps_) on_lost(peer);
  if (stopped_) return;
  for (SharedOutput& output : outputs_) tell_again(output, peer);
  tell_place_again(peer);
  if (parent_ == peer) {
    ask_again();
    if (has_told_parent_ || leaves_) all_.messages.send(peer, bytes_of(FarewellHead{.kind = MessageKind::leaves}));
  } else {
    gone_.erase(peer);
    const bool is_child = std::find(children_.begin(), children_.end(), peer) != children_.end();
    if (is_child && has_said_farewell_) all_.messages.send(peer, bytes_of(FarewellHead{.kind = MessageKind::end}));
  }
}

void Exchange::go_on() {
  const std::lock_guard lock(mutex_);
  take_up_outputs();
  end_what_has_ended();
  for (SharedOutput& output : outputs_) {
    for (const int child : children_) {
      if (tree_.is_stager(child)) tell_again(output, child);
    }
  }
  if (!keeps_) return;
  if (pool_.header().is_made_anew != 0) return begins_anew();   // not all clients may have sent again what the process before lacked
  has_place_of_another_ = true;
  tell_neighbours(bytes_of(own_place()), -1);
}

void Exchange::forget_what_came_from(int peer) {
  const auto is_from = [&](const Incoming& incoming) { return incoming.peer == peer; };
  std::erase_if(all_.incoming, is_from);
  std::erase_if(early_, is_from);
  std::erase_if(all_.receiving, [&](const auto& each) {
    if (!is_from(each.second.incoming)) return false;
    if (each.second.held) recorder_.drop_held(*each.second.held);
    return true;
  });
}

// The last one first: the engine gives out the earliest next.
void Exchange::send_again_to(int peer) {
  for (auto block = on_their_way_.end(); block != on_their_way_.begin();) {
    --block;
    if (block->second.node != peer) continue;
    engine_.take_back(std::move(block->second));
    block = on_their_way_.erase(block);
  }
  std::set<std::uint64_t> lack_sums;
  std::erase_if(sums_on_their_way_, [&](const auto& each) {
    SharedOutput* output = find(each.second.job_output);
    if (output == nullptr || output->publisher != peer) return output == nullptr;
    output->sums.sums.insert(output->sums.sums.end(), each.second.sums.begin(), each.second.sums.end());
    if (!each.second.results.empty()) output->sums.results = each.second.results;
    lack_sums.insert(output->job_output);
    return true;
  });
  for (const std::uint64_t job_output : lack_sums) send_next_sums(*find(job_output));
}

void Exchange::tell_again(SharedOutput& output, int peer) {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  // A client has not found by itself that the stagers keep what the storage of one refuses.
  const bool is_kept_elsewhere = !tree_.is_stager(self_) && slot.nodes.job_closed.load(std::memory_order_acquire) == closed_and_at_stagers;
  const bool is_neighbour = parent_ == peer || output.children.contains(peer);
  if (is_neighbour && output.told_of_failure != SharedOutput::Failure::none && !is_kept_elsewhere) {
    all_.messages.send(peer, failure_message(output, output.told_of_failure));
  }
  if (parent_ == peer) output.said.reset();
  const auto child = output.children.find(peer);
  if (child == output.children.end()) return;
  child->second.reset();
  const auto opening = opening_.find(output.job_output);
  const int client = opening == opening_.end() ? 0 : opening->second.client;
  OpeningHead head{.job_output = output.job_output, .client = static_cast<std::uint32_t>(client)};
  if (keeps_) {
    head.is_again = 1;
    head.is_done = output.heard && output.heard->part_durable != 0 ? 1 : 0;
    if (output.heard) head.inode = slot.working_inode.load(std::memory_order_acquire);   // all had it open
  }
  send_opening(peer, head,
               std::make_shared<const std::vector<std::byte>>(pool::read_description(pool_, output.key).bytes));
  if (!output.heard) return;
  all_.messages.send(peer, bytes_of(ProgressHead{.kind = MessageKind::job_progress, .job_output = output.job_output,
                                                 .progress = *output.heard}));
}

// What a stager above may not know any more. A question about a shared pointer must not be answered twice: it fails.
void Exchange::ask_again() {
  if (openings_ != nullptr) {
    for (const int child : children_) all_.messages.send(child, bytes_of(FarewellHead{.kind = MessageKind::again}));
    return;
  }
  for (const SharedOutput& output : outputs_) ask_stagers(output);
  for (std::uint32_t rank = 0; rank < asked_.size(); ++rank) {
    pool::SharedQuestion& question = pool_.journal(static_cast<int>(rank)).question;
    if (asked_[rank] == question.answered.load(std::memory_order_acquire)) continue;
    question.position.store(pool::no_position, std::memory_order_relaxed);
    question.answered.store(asked_[rank], std::memory_order_release);
    pool::futex_signal(pool_.header().progress);
  }
}

// --- outputs that are over here

// The drain was quicker than this exchange, which has not taken them up: the other nodes do not know of it.
void Exchange::end_what_has_ended() {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool_.slot(index);
    const pool::OutputState state = slot.state.load(std::memory_order_acquire);
    if (state == pool::OutputState::free || state == pool::OutputState::opening || state == pool::OutputState::open) continue;
    SharedOutput output;
    output.job_output = slot.nodes.job_output.load(std::memory_order_acquire);
    output.key = {index, slot.generation.load(std::memory_order_acquire)};
    if (output.job_output == 0 || !is_to_come(output.job_output)) continue;
    if (const auto failure = failure_of(slot); failure != SharedOutput::Failure::none) tell_of_failure(output, failure, -1);
    end(output);
  }
}

// No node needs anything more of it here.
void Exchange::end(const SharedOutput& output) {
  pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const bool open = slot.state.load(std::memory_order_acquire) == pool::OutputState::open;
  has_ended(output.job_output, open ? nullptr : &slot);
  if (open) return;   // postponed: the process that tries again has to know which it is
  slot.nodes.job_output.store(0, std::memory_order_release);   // the slot may be another output's from now on
  const bool is_nobodys = slot.is_bytes.load(std::memory_order_acquire) != 0 || openings_ != nullptr;   // no rank comes to see its end
  if (is_nobodys) slot.state.store(pool::OutputState::free, std::memory_order_release);
  pool::futex_signal(pool_.header().progress);
  const bool is_known_below = !output.was_published || (output.heard && output.heard->published != 0);
  if (is_known_below) return;
  for (const auto& [child, said] : output.children) {   // of the process before they may not have heard it; the others will ask
    if (said) tell_end(child, {.job_output = output.job_output, .progress = *said});
  }
}

// `slot`: none where this node has not opened it, or still has it.
void Exchange::has_ended(std::uint64_t job_output, const pool::OutputSlot* slot) {
  auto& [generation, end] = over_[job_output % pool::output_slots];
  generation = (job_output >> 32) + 1;
  end = slot == nullptr ? pool::OutputEnd::untold : end_of(*slot);
  if (slot != nullptr) note_end(pool_, job_output, *slot);
}

void Exchange::note_end(pool::Pool& pool, std::uint64_t job_output, const pool::OutputSlot& slot) {
  const std::uint64_t word = static_cast<std::uint64_t>(end_of(slot)) << ended_shift | ((job_output >> 32) + 1);
  pool.header().place.ended[job_output % pool::output_slots].store(word, std::memory_order_release);
}

// To a node that is behind, as a stager is that has just taken the place of another one.
void Exchange::tell_end(int peer, const ProgressHead& said) {
  const auto& [generation, end] = over_[said.job_output % pool::output_slots];
  if (parent_ == peer || generation != (said.job_output >> 32) + 1 || end == pool::OutputEnd::untold) return;
  if (end == pool::OutputEnd::failed) {
    const FailureHead head{.error = static_cast<std::uint32_t>(base::Errc::io), .job_output = said.job_output};
    return all_.messages.send(peer, failure_message(head, "the output had failed before a stager was started again", ""));
  }
  ProgressHead answer = said;
  answer.progress.closed = answer.progress.part_durable = answer.progress.published = 1;
  answer.progress.steps_sent = answer.progress.steps_ended;   // what the peer says itself is not of clients that have left
  answer.kind = MessageKind::job_progress;
  all_.messages.send(peer, bytes_of(answer));
}

std::set<int> Exchange::clients_that_have_left(const pool::Pool& pool) {
  const auto& left = pool.header().place.left_clients;
  std::set<int> clients;
  for (std::size_t number = 0; number < 64 * left.size(); ++number) {
    if ((left[number / 64].load() >> number % 64 & 1) != 0) clients.insert(static_cast<int>(number));
  }
  return clients;
}

}  // namespace glean::nodes
