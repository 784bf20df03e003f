// SPDX-License-Identifier: BSD-3-Clause
#include "nodes/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/postponed.hpp"
#include "store/description.hpp"
#include "transport/tree.hpp"

namespace glean::nodes {
namespace {

constexpr std::size_t blocks_in_flight = 16;   // of a node, so that heads do not pile up at a slow one
constexpr int arrivals_at_once = 256;
constexpr std::uint64_t between_names_ns = 100'000'000;   // which rank is last is told again at most so often

mesh::Box box_of(const BlockHead& head, std::span<const std::byte> bytes) {
  bytes = bytes.subspan(sizeof head);
  const std::size_t extent_bytes = head.dimensions * sizeof(std::uint64_t);
  if (bytes.size() != 2 * extent_bytes) throw base::Error(base::Errc::io, "a message of another node is cut off");
  mesh::Box box;
  box.start.resize(head.dimensions);
  box.count.resize(head.dimensions);
  if (extent_bytes == 0) return box;   // of a variable without dimensions
  std::memcpy(box.start.data(), bytes.data(), extent_bytes);
  std::memcpy(box.count.data(), bytes.data() + extent_bytes, extent_bytes);
  return box;
}

// Recovery has messages that know nothing of stagers.
transport::Tree tree_of(const pool::Pool& pool, const transport::Messages& messages) {
  const int stagers = static_cast<int>(pool.header().stagers);
  return stagers == 0 ? messages.tree() : transport::Tree(messages.peers(), stagers);
}

// What cannot be read fails, and no node publishes it.
int publisher_of(const pool::Pool& pool, pool::OutputKey key) {
  try {
    return static_cast<int>(store::OutputDescription::decode(pool::read_description(pool, key).bytes).share.publisher);
  } catch (const base::Error&) {
    return 0;
  }
}

}  // namespace

Exchange::Exchange(pool::Pool& pool, drain::Engine& engine, transport::Messages& messages, transport::Messages* blocks)
    : pool_(pool), engine_(engine), all_{messages}, self_(messages.self()), tree_(tree_of(pool, messages)), parent_(tree_.parent_of(self_)),
      children_(tree_.children_of(self_)),
      recorder_(pool, static_cast<int>(pool.header().ranks), 0, [] { return std::string(); }),
      keeps_(tree_.stagers() != 0 && pool.header().keeps_until_durable.load(std::memory_order_acquire) != 0) {
  if (blocks != nullptr) apart_.emplace(Lane{*blocks});
  for (std::size_t slot = 0; slot < over_.size(); ++slot) {
    const std::uint64_t word = pool.header().place.ended[slot].load(std::memory_order_acquire);
    over_[slot] = {word & ended_generation, static_cast<pool::OutputEnd>(word >> ended_shift)};
  }
}

Exchange::~Exchange() { wait_for_space(false); }

void Exchange::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

bool Exchange::holds_any() const {
  const std::lock_guard lock(mutex_);
  if (leaves_) return false;
  return !outputs_.empty() || all_.is_moving() || !on_their_way_.empty() || !sums_on_their_way_.empty() || (apart_ && apart_->is_moving());
}

bool Exchange::is_moving() const {
  const std::lock_guard lock(mutex_);
  return all_.is_moving() || !on_their_way_.empty() || !sums_on_their_way_.empty() || (apart_ && apart_->is_moving());
}

void Exchange::take_up_outputs() {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool_.slot(index);
    if (slot.state.load(std::memory_order_acquire) != pool::OutputState::open) continue;
    const std::uint64_t job_output = slot.nodes.job_output.load(std::memory_order_acquire);
    if (job_output != 0 && is_to_come(job_output)) take_up(job_output, {index, slot.generation.load(std::memory_order_acquire)});
  }
}

void Exchange::take_up(std::uint64_t job_output, pool::OutputKey key) {
  SharedOutput output;
  output.job_output = job_output;
  output.key = key;
  output.publisher = publisher_of(pool_, key);
  output.told_of_end = output.was_published = pool_.slot(key.slot).nodes.job_published.load(std::memory_order_acquire) != 0;
  for (const int child : children_) output.children.emplace(child, std::nullopt);
  outputs_.push_back(std::move(output));
  if (tree_.stagers() != 0 && !tree_.is_stager(self_)) ask_stagers(outputs_.back());
  for (auto& early : std::exchange(early_, {})) on_message(all_, early.peer, std::move(early.head));
}

Exchange::SharedOutput* Exchange::find(std::uint64_t job_output) {
  for (auto& output : outputs_) {
    if (output.job_output == job_output) return &output;
  }
  return nullptr;
}

// The output of a message: a node that is ahead speaks of outputs that this one is just opening.
bool Exchange::is_to_come(std::uint64_t job_output) {
  return find(job_output) == nullptr && over_[job_output % pool::output_slots].first <= job_output >> 32;
}

// Not put off: what it has keeps its place in the pool then.
bool Exchange::wants(std::uint64_t job_output) {
  const SharedOutput* output = find(job_output);
  return output != nullptr && pool::postponed(pool_.slot(output->key.slot)) == pool::Postponed::no;
}

bool Exchange::progress() {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  if (!leaves_) take_up_outputs();
  if (places_) look_for_places();
  bool moved = move(all_);
  if (leaves_ || stopped_) return moved;
  if (!apart_) moved = send_blocks() || moved;
  moved = ask() || moved;
  moved = open_next() || moved;
  moved = tell_progress() || moved;
  return tell_farewell() || moved;
}

bool Exchange::move_blocks() {
  const std::lock_guard lock(mutex_);
  if (!apart_ || stopped_) return false;
  take_up_outputs();
  const bool moved = move(*apart_);
  return send_blocks() || moved;
}

bool Exchange::move(Lane& lane) {
  bool moved = complete_transfers(lane);
  moved = take_arrivals(lane) || moved;
  return take_in(lane) || moved;
}

// --- exchange blocks

bool Exchange::send_blocks() {
  bool moved = false;
  while (on_their_way_.size() < blocks_in_flight) {
    auto block = engine_.next_block(held_);
    if (!block) break;
    const std::uint64_t number = ++tokens_;
    BlockHead head;
    head.variable = block->variable;
    head.number = number;
    head.job_output = pool_.slot(block->output.slot).nodes.job_output.load(std::memory_order_acquire);
    head.step = block->step;
    head.job_rank = static_cast<std::uint32_t>(block->job_rank);
    head.first_element = block->first_element;
    head.elements = block->elements;
    head.body_bytes = block->payload.size();
    head.dimensions = static_cast<std::uint16_t>(block->box.count.size());
    head.memory_type = static_cast<std::uint8_t>(block->memory);
    head.first = block->first ? 1 : 0;
    std::vector<std::byte> bytes;
    append(bytes, bytes_of(head));
    append(bytes, std::as_bytes(std::span(block->box.start)));
    append(bytes, std::as_bytes(std::span(block->box.count)));
    block_lane().messages.send(block->node, bytes, block->payload, number);
    on_their_way_.emplace(number, std::move(*block));
    moved = true;
  }
  return moved;
}

bool Exchange::take_arrivals(Lane& lane) {
  int count = 0;
  for (; count < arrivals_at_once; ++count) {
    auto arrival = lane.messages.arrival();
    notice_replaced();
    if (!arrival || stopped_) break;
    on_message(lane, arrival->peer, std::move(arrival->head));
  }
  return count != 0;
}

void Exchange::on_message(Lane& lane, int peer, std::vector<std::byte> head) {
  // A client of another stager, which notices when it is lost; it says farewell there only.
  if (openings_ != nullptr && !tree_.is_stager(peer) && tree_.parent_of(peer) != self_) lane.messages.let_go(peer);
  switch (head_of<MessageKind>(head)) {
    case MessageKind::opening: return on_opening(lane, {peer, std::move(head)});
    case MessageKind::block:
    case MessageKind::sums: lane.incoming.push_back({peer, std::move(head)}); return;
    case MessageKind::receipt: {
      const auto receipt = head_of<ReceiptHead>(head);
      if (sums_have_arrived(receipt.number)) return;
      const auto block = on_their_way_.extract(receipt.number);
      using Answer = drain::Engine::Answer;
      if (!block.empty()) engine_.answered(block.mapped(), receipt.taken != 0 ? Answer::arrived : Answer::refused);
      return;
    }
    case MessageKind::progress: {
      const auto said = head_of<ProgressHead>(head);
      if (SharedOutput* output = find(said.job_output)) output->children[peer] = said.progress;
      else if (is_to_come(said.job_output)) early_.push_back({peer, std::move(head)});
      else tell_end(peer, said);
      return;
    }
    case MessageKind::job_progress: {
      const auto said = head_of<ProgressHead>(head);
      // What was said before this stager has begun anew is not true of it.
      if (SharedOutput* output = find(said.job_output); output != nullptr && said.progress.begun_anew >= begun_anew_) {
        apply(*output, said.progress);
      }
      return;   // never early: it is said when all nodes have added the output
    }
    case MessageKind::failure: {
      const auto said = head_of<FailureHead>(head);
      if (find(said.job_output) != nullptr) on_failure(peer, head);
      else if (said.is_nowhere != 0 && openings_ != nullptr) pass_on_failure(peer, said.job_output, head);
      else if (is_to_come(said.job_output)) early_.push_back({peer, std::move(head)});
      return;
    }
    case MessageKind::question: return on_question(head_of<QuestionHead>(head));
    case MessageKind::answer: return on_answer(head_of<AnswerHead>(head));
    case MessageKind::opened: return on_opened(peer, head_of<OpenedHead>(head));
    case MessageKind::again: return ask_again();
    case MessageKind::lost: return on_lost_elsewhere(peer, head_of<LostHead>(head));
    case MessageKind::place: return on_place(peer, head_of<PlaceHead>(head));
    case MessageKind::heard: return on_heard(head_of<HeardHead>(head));
    case MessageKind::ended: return on_ended(head_of<EndedHead>(head));
    case MessageKind::leaves:
    case MessageKind::end: return on_farewell(peer, head_of<MessageKind>(head));
  }
  throw base::Error(base::Errc::io, "a message of another node cannot be understood");
}

// In the order in which they came from each peer. A block that finds no room waits, and with it all blocks after it, until the drain has
// made some.
bool Exchange::take_in(Lane& lane) {
  bool moved = false, lacks_room = false;
  std::set<int> waiting;   // peers whose next body cannot be taken yet
  for (auto next = lane.incoming.begin(); next != lane.incoming.end();) {
    if (waiting.contains(next->peer) || !take_in(lane, *next, lacks_room)) {
      waiting.insert(next->peer);
      ++next;
    } else {
      next = lane.incoming.erase(next);
      moved = true;
    }
  }
  wait_for_space(lacks_room);
  return moved;
}

bool Exchange::take_in(Lane& lane, Incoming& next, bool& lacks_room) {
  const auto kind = head_of<MessageKind>(next.head);
  if (kind == MessageKind::block) return take_in_block(lane, next, lacks_room);
  if (kind == MessageKind::sums) take_in_sums(lane, std::move(next));
  else take_in_opening(lane, std::move(next));
  return true;
}

bool Exchange::take_in_block(Lane& lane, Incoming& next, bool& lacks_room) {
  const auto head = head_of<BlockHead>(next.head);
  if (is_to_come(head.job_output)) return false;
  if (head.body_bytes > pool_.header().chunk_bytes) throw base::Error(base::Errc::io, "a message of another node is too long");
  Receiving receiving;
  std::byte* target = nullptr;
  const bool wanted = wants(head.job_output) && !is_done_here(head.job_output);
  if (wanted && !lacks_room) receiving.held = recorder_.try_hold(head.body_bytes, head.dimensions);
  if (wanted && !receiving.held) {
    lacks_room = true;
    return false;
  }
  if (receiving.held) {
    target = receiving.held->room.data;
  } else {   // there may never be room for it again
    receiving.body.resize(head.body_bytes);
    target = receiving.body.data();
  }
  const std::uint64_t token = ++tokens_;
  lane.messages.receive_body(next.peer, {target, head.body_bytes}, token);
  receiving.incoming = std::move(next);
  lane.receiving.emplace(token, std::move(receiving));
  return true;
}

void Exchange::wait_for_space(bool wait) {
  if (waits_for_space_ == wait) {
    if (wait) pool::futex_signal(pool_.header().work);
    return;
  }
  waits_for_space_ = wait;
  auto& waiting = pool_.header().waiting_for_space;
  if (wait) waiting.fetch_add(1, std::memory_order_seq_cst);
  else waiting.fetch_sub(1, std::memory_order_relaxed);
}

bool Exchange::complete_transfers(Lane& lane) {
  bool moved = false;
  const auto completed = lane.messages.completed();
  notice_replaced();
  for (const std::uint64_t token : completed) {
    moved = true;
    // What was sent waits for its receipt: only then does another process of this machine have it.
    if (const auto received = lane.receiving.extract(token); !received.empty()) commit(received.mapped());
    else openings_on_their_way_.erase(token);
  }
  return moved;
}

void Exchange::commit(const Receiving& received) {
  const auto kind = head_of<MessageKind>(received.incoming.head);
  if (kind == MessageKind::sums) return commit_sums(received);
  if (kind == MessageKind::opening) {
    return take_opening(received.incoming.peer, head_of<OpeningHead>(received.incoming.head), received.body);
  }
  const auto head = head_of<BlockHead>(received.incoming.head);
  const SharedOutput* output = find(head.job_output);   // none: it has failed here, or is put off, and all nodes have been told
  const bool taken = received.held && output != nullptr;
  if (taken) {
    const mesh::Box box = box_of(head, received.incoming.head);
    const bool is_raw = pool_.slot(output->key.slot).is_bytes.load(std::memory_order_relaxed) != 0;
    const std::uint64_t step = is_raw ? recorder_.number_arrival(output->key, pool::WriteStamp::of(head.step).order).word() : head.step;
    const pool::Recorder::Put put{output->key, step, head.variable, static_cast<mesh::Type>(head.memory_type), &box,
                                  head.first_element, head.elements, head.first != 0 ? pool::Origin::node_first : pool::Origin::node,
                                  static_cast<int>(head.job_rank)};
    if (!spills(*received.held, put)) recorder_.commit_held(*received.held, put);
    recorder_.ring_the_drain();
  } else if (received.held) {
    recorder_.drop_held(*received.held);
  }
  const bool is_there = taken || is_done_here(head.job_output);
  all_.messages.send(received.incoming.peer, bytes_of(ReceiptHead{.taken = is_there ? 1U : 0U, .number = head.number}));
}

// --- how far all nodes are

NodeProgress Exchange::own_progress(const SharedOutput& output) const {
  NodeProgress mine = progress_of(pool_, output.key.slot);
  mine.begun_anew = begun_anew_;
  if (output.sums_are != SharedOutput::SumsAre::there) mine.part_durable = 0;
  if (output.publisher != self_) mine.published = mine.removed = 0;
  if (output.was_published) mine.published = 1;   // its publisher may have left
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const pool::SlotNodes& known = slot.nodes;
  // It is published only when this node knows that it was opened: recovery goes by that.
  const pool::AtStagers at_stagers = known.at_stagers.load(std::memory_order_acquire);
  const bool is_asked_for = at_stagers == pool::AtStagers::asked || at_stagers == pool::AtStagers::asked_for_new_file;
  if (is_asked_for && slot.error.load(std::memory_order_acquire) == 0) mine.steps_sent = mine.closed = 0;
  if (tree_.is_stager(self_) && known.job_closed.load(std::memory_order_acquire) == closed_and_at_stagers) {
    mine.steps_ended = known.job_steps_ended.load(std::memory_order_acquire);   // its clients may have left, and say it no more
    mine.steps_begun = known.job_steps_begun.load(std::memory_order_acquire);
  }
  return mine;
}

bool Exchange::tell_progress() {
  bool moved = false;
  for (SharedOutput& output : outputs_) {
    pool::OutputSlot& slot = pool_.slot(output.key.slot);
    if (const auto failure = failure_of(slot); failure > output.told_of_failure) tell_of_failure(output, failure, -1);
    send_sums(output);
    moved = tell_progress(output) || moved;
    const bool open = slot.state.load(std::memory_order_acquire) == pool::OutputState::open;
    const bool known = output.told_of_failure == SharedOutput::Failure::failed || output.told_of_end;
    output.over = known && (!open || pool::postponed(slot) == pool::Postponed::yes);
    if (output.over) end(output);
  }
  std::erase_if(outputs_, [](const SharedOutput& output) { return output.over; });
  return moved;
}

// Nothing before all have said something: what is said is true of every node.
bool Exchange::tell_progress(SharedOutput& output) {
  if (!not_heard_.empty()) return false;   // clients may have said that all is sent, before they knew that it is to be sent again
  NodeProgress progress = own_progress(output);
  for (const auto& [child, said] : output.children) {
    // A client that has left had no need of the output any more. A stager has, also when all clients below it have left.
    if (!said && gone_.contains(child) && !tree_.is_stager(child)) continue;
    if (!said) return false;
    NodeProgress theirs = *said;
    if (is_kept_by_stagers(output) && !tree_.is_stager(child)) theirs.agreed = 1;
    progress.join(theirs);
  }
  if (!parent_ && progress.agreed != 0) progress.postponed = 1;   // all have
  const std::uint64_t now = base::now_ns();
  const bool is_news = !output.said || !output.said->is_as_far_as(progress);
  if (!is_news && (output.said == progress || now - output.said_ns <= between_names_ns)) return false;
  output.said = progress;
  output.said_ns = now;
  if (parent_ && !output.is_nowhere_else) {
    all_.messages.send(*parent_, bytes_of(ProgressHead{.kind = MessageKind::progress, .job_output = output.job_output,
                                                   .progress = progress}));
  } else {
    apply(output, progress);
  }
  return true;
}

// What is true of all nodes, here and below.
void Exchange::apply(SharedOutput& output, const NodeProgress& of_all) {
  output.heard = of_all;
  output.told_of_end = output.was_published || of_all.published != 0 || of_all.removed != 0 || of_all.postponed != 0;
  pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const auto set = [](auto& word, auto value) { word.store(value, std::memory_order_release); };
  set(slot.nodes.job_steps_ended, of_all.steps_ended);
  set(slot.nodes.job_steps_begun, of_all.steps_begun);
  // They stay durable when a stager begins anew.
  set(slot.nodes.job_steps_synchronized, std::max(of_all.steps_synchronized, slot.nodes.job_steps_synchronized.load()));
  set(slot.nodes.job_records, of_all.records);
  set(slot.nodes.job_highest_end, of_all.highest_end);
  set(slot.nodes.job_parts_durable, of_all.part_durable);
  note_closed(slot, of_all);
  set(slot.nodes.job_steps, of_all.steps_sent);   // after that: with the last step it is known that it is the last
  set(slot.nodes.job_last_rank, of_all.last_rank);
  set(slot.nodes.job_open_rank, of_all.open_rank);
  set(slot.nodes.job_published, std::max(of_all.published, of_all.removed));
  apply_ticks(slot, of_all);
  const bool has_failed = output.told_of_failure == SharedOutput::Failure::failed;   // on a client, whose stagers keep it
  if (of_all.postponed != 0 && !has_failed) pool::set_postponed(slot, pool::Postponed::yes);   // this node may just have put it off
  std::uint64_t wanted = slot.steps.synchronize_up_to.load(std::memory_order_relaxed);
  while (wanted < of_all.synchronize_up_to && !slot.steps.synchronize_up_to.compare_exchange_weak(wanted, of_all.synchronize_up_to)) {}
  pool::futex_signal(pool_.header().work);
  pool::futex_signal(pool_.header().progress);
  // Last: what a node has heard stands in the pools of all nodes above it.
  for (const int child : children_) {
    all_.messages.send(child, bytes_of(ProgressHead{.kind = MessageKind::job_progress, .job_output = output.job_output,
                                                .progress = of_all}));
  }
}

}  // namespace glean::nodes
