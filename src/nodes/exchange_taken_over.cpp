// SPDX-License-Identifier: BSD-3-Clause
//
// A stager that is lost with its pool, of a job whose nodes keep what is not durable: another process takes its place and begins with
// nothing. All clients send there again what they keep. Before they all have said so, what they say of what is sent is not true of it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "nodes/exchange.hpp"
#include "pool/futex.hpp"

namespace glean::nodes {
namespace {

std::uint64_t realtime_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

void Exchange::find_places_with(Places places) {
  const std::lock_guard lock(mutex_);
  places_ = std::move(places);
}

void Exchange::look_for_places() {
  for (const auto& [stager, addresses] : places_->take_found()) all_.messages.look_at(stager, addresses);
}

// Its process is gone. Of two neighbours the one with the lower number connects, and so has to find the place.
void Exchange::on_lost(int peer) {
  if (leaves_ && parent_ == peer) {   // all is published, and no node waits for this client
    stopped_ = true;
    outputs_.clear();
    return pool::futex_signal(pool_.header().progress);
  }
  if (!tree_.is_stager(self_)) hold(peer);
  const bool is_neighbour = parent_ == peer || std::find(children_.begin(), children_.end(), peer) != children_.end();
  const bool is_needed = !outputs_.empty() || !is_needed_by_no_client();
  // Each part of the tree hears of it from the neighbour through which it hears of the new process afterwards, so never in the other order.
  if (is_neighbour && tree_.is_stager(self_)) tell_neighbours(bytes_of(LostHead{.node = static_cast<std::uint32_t>(peer)}), peer);
  if (places_ && is_neighbour && self_ < peer && (is_needed || !tree_.is_stager(self_))) places_->seek(peer);
}

void Exchange::hold(int stager) {
  held_.insert(stager);
  engine_.hold_kept(true);
}

// A node with no connection to that stager does not notice by itself.
void Exchange::on_lost_elsewhere(int from, const LostHead& head) {
  const auto node = static_cast<int>(head.node);
  if (!tree_.is_stager(node) || node == self_) throw base::Error(base::Errc::io, "a message of another node cannot be understood");
  if (tree_.is_stager(self_)) tell_neighbours(bytes_of(head), from);
  else hold(node);
}

void Exchange::begin_anew() {
  const std::lock_guard lock(mutex_);
  begins_anew();
}

void Exchange::begins_anew() {
  begun_anew_ = realtime_ns();
  for (int client = 0; client < tree_.clients(); ++client) not_heard_.insert(client);
  has_place_of_another_ = true;
  tell_neighbours(bytes_of(own_place()), -1);
}

PlaceHead Exchange::own_place() const {
  return {.node = static_cast<std::uint32_t>(self_), .begun_anew = not_heard_.empty() ? 0 : begun_anew_};
}

// What this stager has said of itself may have been on its way through that one, and so may what clients have answered.
void Exchange::tell_place_again(int peer) {
  const bool is_neighbour = parent_ == peer || std::find(children_.begin(), children_.end(), peer) != children_.end();
  if (has_place_of_another_ && is_neighbour) all_.messages.send(peer, bytes_of(own_place()));
}

void Exchange::tell_neighbours(std::span<const std::byte> message, int except) {
  if (parent_ && *parent_ != except) all_.messages.send(*parent_, message);
  for (const int child : children_) {
    if (child != except && !gone_.contains(child)) all_.messages.send(child, message);
  }
}

void Exchange::on_place(int from, const PlaceHead& head) {
  const auto node = static_cast<int>(head.node);
  if (!tree_.is_stager(node) || node == self_) throw base::Error(base::Errc::io, "a message of another node cannot be understood");
  if (places_) places_->end(node);
  tell_neighbours(bytes_of(head), from);
  const bool is_above = parent_ == node ? self_ == 0 : std::find(children_.begin(), children_.end(), node) != children_.end();
  if (is_above && head.begun_anew != 0) tell_ends(node);
  if (tree_.is_stager(self_)) return;
  all_.messages.has_another(node);
  notice_replaced();
  if (stopped_) return;
  held_.erase(node);
  if (head.begun_anew != 0) send_again(head);
  engine_.hold_kept(!held_.empty());
}

// The answer comes after what is true now: what was sent is not, any more. It may be asked for again.
void Exchange::send_again(const PlaceHead& head) {
  const auto node = static_cast<int>(head.node);
  if (std::exchange(sent_again_[node], head.begun_anew) != head.begun_anew) {
    sent_again_since_ = std::max(sent_again_since_, head.begun_anew);
    engine_.send_again(node);
  }
  for (SharedOutput& output : outputs_) {
    const auto failure = failure_of(pool_.slot(output.key.slot));
    if (failure > output.told_of_failure) tell_of_failure(output, failure, -1);
    output.said.reset();
    static_cast<void>(tell_progress(output));
  }
  const HeardHead heard{.node = head.node, .begun_anew = head.begun_anew, .client = static_cast<std::uint32_t>(self_)};
  all_.messages.send(*parent_, bytes_of(heard));
}

void Exchange::on_heard(const HeardHead& head) {
  const auto node = static_cast<int>(head.node);
  if (node == self_) {
    if (head.begun_anew == begun_anew_) not_heard_.erase(static_cast<int>(head.client));
    return;
  }
  if (openings_ == nullptr || !tree_.is_stager(node)) throw base::Error(base::Errc::io, "a message of another node cannot be understood");
  for (SharedOutput& output : outputs_) static_cast<void>(tell_progress(output));   // on the same way, before
  all_.messages.send(tree_.way_to(node, self_), bytes_of(head));
}

// To a stager below, or the root, which does not know outputs that are over.
void Exchange::tell_ends(int peer) {
  for (std::size_t slot = 0; slot < over_.size(); ++slot) {
    const auto& [generation, end] = over_[slot];
    if (generation == 0 || end == pool::OutputEnd::untold) continue;
    const EndedHead head{.end = static_cast<std::uint32_t>(end), .job_output = (generation - 1) << 32 | slot};
    all_.messages.send(peer, bytes_of(head));
  }
}

void Exchange::on_ended(const EndedHead& head) {
  if (!is_to_come(head.job_output)) return;
  over_[head.job_output % pool::output_slots] = {(head.job_output >> 32) + 1, static_cast<pool::OutputEnd>(head.end)};
  const std::uint64_t word = std::uint64_t{head.end} << ended_shift | ((head.job_output >> 32) + 1);
  pool_.header().place.ended[head.job_output % pool::output_slots].store(word, std::memory_order_release);
  for (auto& early : std::exchange(early_, {})) on_message(all_, early.peer, std::move(early.head));   // are told of it
}

// What comes of it again is in the file already.
bool Exchange::is_done_here(std::uint64_t job_output) {
  const SharedOutput* const output = begun_anew_ == 0 ? nullptr : find(job_output);
  if (output == nullptr) return false;
  const pool::SlotNodes& nodes = pool_.slot(output->key.slot).nodes;
  return nodes.is_opened_anew.load(std::memory_order_acquire) != 0 && nodes.part_durable.load(std::memory_order_acquire) != 0;
}

}  // namespace glean::nodes
