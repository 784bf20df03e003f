// SPDX-License-Identifier: BSD-3-Clause
//
// Between stagers and the nodes that they write for: outputs are opened there, and the nodes leave before the files are written.
#include <algorithm>
#include <utility>

#include "nodes/exchange.hpp"
#include "nodes/openings.hpp"
#include "nodes/spill.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"

namespace glean::nodes {
namespace {

constexpr Bytes description_bytes_max = 64 * base::MiB;
constexpr Bytes bytes_in_head_max = 32 * base::KiB;   // a body has to be asked for, which takes as long again

// All of it: it was closed, and all parts of it were heard to be.
bool is_raw_and_durable(const pool::OutputSlot& slot) {
  return slot.writes.job_durable_tick.load(std::memory_order_acquire) == pool::WriteStamp::last_order;
}

}  // namespace

void Exchange::serve(Openings& openings, Spill* spill) {
  const std::lock_guard lock(mutex_);
  openings_ = &openings;
  spill_ = spill;
}

// What comes last, so that the drain has in memory what it writes next, and what comes after that finds room. True: it is recorded.
bool Exchange::spills(const pool::Recorder::Held& held, const pool::Recorder::Put& put) {
  const pool::PoolHeader& header = pool_.header();
  if (spill_ == nullptr || header.used_chunks.load(std::memory_order_relaxed) < header.chunk_count - header.chunk_count / 4) return false;
  const auto offset = spill_->write(put, {held.room.data, held.room.bytes});
  if (offset) recorder_.commit_spilled(held, *offset, put);
  return offset.has_value();
}

// --- of a client

void Exchange::ask_stagers(const SharedOutput& output) {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const pool::AtStagers now = slot.nodes.at_stagers.load(std::memory_order_acquire);
  const bool is_asked_for = now == pool::AtStagers::asked || now == pool::AtStagers::asked_for_new_file;
  const bool is_again = keeps_ && now == pool::AtStagers::open && slot.error.load(std::memory_order_acquire) == 0;
  // Also one that has failed by now: its nodes hear from the stagers that all of them have closed it.
  if (!is_asked_for && !is_again) return;
  const OpeningHead head{.refuses_existing = now == pool::AtStagers::asked_for_new_file ? 1U : 0U, .job_output = output.job_output,
                         .client = static_cast<std::uint32_t>(self_), .is_again = static_cast<std::uint16_t>(is_again ? 1 : 0),
                         .is_done = static_cast<std::uint16_t>(is_raw_and_durable(slot) ? 1 : 0),
                         .inode = slot.working_inode.load(std::memory_order_acquire)};
  send_opening(*parent_, head, std::make_shared<const std::vector<std::byte>>(pool::read_description(pool_, output.key).bytes));
}

bool Exchange::may_leave() {
  const std::lock_guard lock(mutex_);
  if (!stopped_) take_up_outputs();   // one that was opened and closed while the thread of the exchange slept
  if (!stopped_ && !all_.messages.reaches(*parent_)) return false;   // what it says would not be heard
  const bool is_sent = on_their_way_.empty() && openings_on_their_way_.empty() && !all_.is_moving();
  // What it knows is noted in pools that stay: if the stagers are killed, recovery needs the pool of this node no more.
  return is_sent && std::all_of(outputs_.begin(), outputs_.end(), [&](const SharedOutput& output) {
    if (!output.said || output.said->closed == 0) return false;
    if (output.told_of_failure == SharedOutput::Failure::failed) return true;
    const pool::OutputSlot& slot = pool_.slot(output.key.slot);
    const bool is_at_stagers = slot.nodes.job_closed.load(std::memory_order_acquire) == closed_and_at_stagers;
    const bool is_published_here = pool::is_made_by_ranks(slot);
    return is_at_stagers && !is_published_here && output.said->part_durable != 0;
  });
}

void Exchange::leave() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || !parent_) return;
  all_.messages.send(*parent_, bytes_of(FarewellHead{.kind = MessageKind::leaves}));
  early_.clear();
  leaves_ = true;   // the stagers do the rest
}

bool Exchange::has_left() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

// Never less than before: recovery begins anew with what is sent.
void Exchange::note_closed(pool::OutputSlot& slot, const NodeProgress& of_all) const {
  const bool is_at_stagers = tree_.stagers() != 0 && of_all.closed != 0 && of_all.steps_sent >= of_all.steps_ended;
  const std::uint32_t closed = is_at_stagers ? closed_and_at_stagers : of_all.closed;
  if (slot.nodes.job_closed.load(std::memory_order_acquire) < closed) slot.nodes.job_closed.store(closed, std::memory_order_release);
}

// --- of a stager

void Exchange::do_without(const std::set<int>& clients) {
  const std::lock_guard lock(mutex_);
  std::erase_if(children_, [&](int child) { return clients.contains(child) && !tree_.is_stager(child); });
  for (const int client : clients) all_.messages.let_go(client);
}

bool Exchange::is_over() const {
  const std::lock_guard lock(mutex_);
  return ends_ && outputs_.empty() && !all_.is_moving();
}

bool Exchange::have_clients_left() const {
  const std::lock_guard lock(mutex_);
  return is_needed_by_no_client();
}

// One without clients of its own hears from the stager above that all have left.
bool Exchange::is_needed_by_no_client() const {
  const auto is_client = [&](int child) { return !tree_.is_stager(child); };
  if (std::none_of(children_.begin(), children_.end(), is_client)) return ends_;
  return std::all_of(children_.begin(), children_.end(), [&](int child) { return !is_client(child) || gone_.contains(child); });
}

void Exchange::send_opening(int peer, OpeningHead head, const Description& description) {
  if (description->size() <= bytes_in_head_max) {
    head.body_bytes = 0;
    std::vector<std::byte> bytes;
    append(bytes, bytes_of(head));
    append(bytes, *description);
    return all_.messages.send(peer, bytes);
  }
  head.body_bytes = description->size();
  const std::uint64_t number = ++tokens_;
  openings_on_their_way_.emplace(number, description);
  all_.messages.send(peer, bytes_of(head), *description, number);
}

void Exchange::on_opening(Lane& lane, Incoming incoming) {
  const auto head = head_of<OpeningHead>(incoming.head);
  if (openings_ == nullptr || head.body_bytes > description_bytes_max) {
    throw base::Error(base::Errc::io, "a message of another node cannot be understood");
  }
  if (head.body_bytes != 0) return lane.incoming.push_back(std::move(incoming));
  const std::vector<std::byte> description(incoming.head.begin() + sizeof head, incoming.head.end());
  take_opening(incoming.peer, head, description);
}

void Exchange::take_in_opening(Lane& lane, Incoming incoming) {
  const auto head = head_of<OpeningHead>(incoming.head);
  const int peer = incoming.peer;
  Receiving receiving{.incoming = std::move(incoming), .held = {}, .body = std::vector<std::byte>(head.body_bytes)};
  const std::uint64_t token = ++tokens_;
  std::vector<std::byte>& body = (lane.receiving[token] = std::move(receiving)).body;
  lane.messages.receive_body(peer, body, token);
}

// Up to the root, and from there to all.
void Exchange::take_opening(int peer, const OpeningHead& head, const std::vector<std::byte>& description) {
  if (parent_ && peer != *parent_) return send_opening(*parent_, head, std::make_shared<const std::vector<std::byte>>(description));
  to_open_.emplace_back(head, description);
  static_cast<void>(open_next());
}

bool Exchange::open_next() {
  bool moved = false;
  while (!to_open_.empty() && open(to_open_.front().first, to_open_.front().second)) {
    to_open_.pop_front();
    moved = true;
  }
  return moved;
}

// False: not now. In recovery the stager may have it open from before.
bool Exchange::open(const OpeningHead& head, const std::vector<std::byte>& description) {
  if (const SharedOutput* known = find(head.job_output)) {
    tell_stagers_below(head, pool::read_description(pool_, known->key).bytes);
    return true;
  }
  if (!is_to_come(head.job_output)) {   // it is over here, and the stager above was not told
    const OpenedHead opened{.client = head.client, .job_output = head.job_output};
    if (parent_) all_.messages.send(*parent_, bytes_of(opened));
    return true;
  }
  Openings::Asked asked{description, head.refuses_existing != 0, !parent_, head.job_output, head.inode,
                        head.is_again != 0, head.is_done != 0};
  try {
    const auto key = openings_->open(asked, recorder_);
    if (asked.is_published) {
      on_ended({.end = static_cast<std::uint32_t>(pool::OutputEnd::published), .job_output = head.job_output});
      return true;
    }
    if (!key) return false;
    take_up(head.job_output, *key);
  } catch (const base::Error& error) {
    if (parent_) throw;   // the root has it open
    refuse_opening(head.job_output, error);
    return true;
  }
  tell_stagers_below(head, std::move(asked.description));
  return true;
}

void Exchange::tell_stagers_below(const OpeningHead& head, std::vector<std::byte> bytes) {
  const auto description = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Opening& opening = opening_[head.job_output];
  opening.client = static_cast<int>(head.client);
  for (const int child : children_) {
    if (!tree_.is_stager(child)) continue;
    opening.lacks.insert(child);
    send_opening(child, head, description);
  }
  tell_if_opened(head.job_output);
}

void Exchange::tell_if_opened(std::uint64_t job_output) {
  const auto found = opening_.find(job_output);
  if (found == opening_.end() || !found->second.lacks.empty()) return;
  const SharedOutput* output = find(job_output);
  if (output == nullptr || pool_.slot(output->key.slot).error.load(std::memory_order_acquire) != 0) {   // which all nodes are told instead
    opening_.erase(found);
    return;
  }
  const OpenedHead head{.client = static_cast<std::uint32_t>(found->second.client), .job_output = job_output,
                        .inode = pool_.slot(output->key.slot).working_inode.load(std::memory_order_acquire)};
  all_.messages.send(parent_ ? *parent_ : tree_.way_to(found->second.client, self_), bytes_of(head));
  opening_.erase(found);
}

// Up to the root, and from there to the client.
void Exchange::on_opened(int peer, const OpenedHead& head) {
  const auto client = static_cast<int>(head.client);
  if (client < 0 || client >= tree_.clients()) throw base::Error(base::Errc::io, "a message of another node cannot be understood");
  if (client == self_) {
    if (const SharedOutput* output = find(head.job_output)) {
      pool::OutputSlot& slot = pool_.slot(output->key.slot);
      // By that it is known again if the stagers are lost.
      if (!pool::is_made_by_ranks(slot)) slot.working_inode.store(head.inode, std::memory_order_release);
      slot.nodes.at_stagers.store(pool::AtStagers::open, std::memory_order_release);
    }
    pool::futex_signal(pool_.header().progress);
  } else if (parent_ && peer == *parent_) {
    all_.messages.send(tree_.way_to(client, self_), bytes_of(head));
  } else if (const auto found = opening_.find(head.job_output); found != opening_.end()) {
    found->second.lacks.erase(peer);
    tell_if_opened(head.job_output);
  }
}

// That no stager opens it. To the clients, which have it open.
void Exchange::refuse_opening(std::uint64_t job_output, const base::Error& error) {
  const FailureHead head{.error = static_cast<std::uint32_t>(error.code()), .job_output = job_output, .is_nowhere = 1};
  pass_on_failure(-1, job_output, failure_message(head, error.what(), error.hint()));
}

void Exchange::pass_on_failure(int from, std::uint64_t job_output, std::span<const std::byte> message) {
  has_ended(job_output, nullptr);
  std::erase_if(early_, [&](const Incoming& early) { return head_of<OutputHead>(early.head).job_output == job_output; });
  for (const int child : children_) {
    if (child != from) all_.messages.send(child, message);
  }
}

void Exchange::on_farewell(int peer, MessageKind kind) {
  all_.messages.let_go(peer);
  if (kind == MessageKind::end) {
    if (openings_ == nullptr) {
      stopped_ = true;
      outputs_.clear();
    } else {
      ends_ = true;
      for (int client = 0; client < tree_.clients(); ++client) note_left(client);
    }
    return pool::futex_signal(pool_.header().progress);
  }
  gone_.insert(peer);
  if (tree_.is_stager(peer)) return;
  note_left(peer);
  all_.messages.send(peer, bytes_of(FarewellHead{.kind = MessageKind::end}));
}

void Exchange::note_left(int client) {
  auto& left = pool_.header().place.left_clients;
  const auto number = static_cast<std::size_t>(client);
  if (number < 64 * left.size()) left[number / 64].fetch_or(std::uint64_t{1} << number % 64);
}

// True: something was said.
bool Exchange::tell_farewell() {
  if (openings_ == nullptr || has_said_farewell_) return false;
  const bool have_all_left = std::all_of(children_.begin(), children_.end(), [&](int child) { return gone_.contains(child); });
  if (parent_ ? ends_ : have_all_left && outputs_.empty() && early_.empty() && to_open_.empty()) {   // and down the tree
    ends_ = has_said_farewell_ = true;
    if (outputs_.empty()) pool_.header().place.port = 0;   // there is nothing to go on with (service::give_up_place)
    for (const int child : children_) {
      if (tree_.is_stager(child)) all_.messages.send(child, bytes_of(FarewellHead{.kind = MessageKind::end}));
    }
    return true;
  }
  if (!parent_ || !have_all_left || std::exchange(has_told_parent_, true)) return false;
  all_.messages.send(*parent_, bytes_of(FarewellHead{.kind = MessageKind::leaves}));
  return true;
}

}  // namespace glean::nodes
