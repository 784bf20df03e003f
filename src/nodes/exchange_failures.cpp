// SPDX-License-Identifier: BSD-3-Clause
//
// That an output has failed on a node, or may have, told to all along the tree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "nodes/exchange.hpp"
#include "pool/futex.hpp"
#include "pool/postponed.hpp"

namespace glean::nodes {
namespace {

constexpr char kept_by_stagers[] = "the stagers have all of it in memory: when that is mended, `glean recover` where they run completes it";

}  // namespace

// In this order: what is refused says so before it has an error.
Exchange::SharedOutput::Failure Exchange::failure_of(const pool::OutputSlot& slot) {
  using Failure = SharedOutput::Failure;
  if (slot.error.load(std::memory_order_acquire) == 0) return Failure::none;
  const pool::Postponed postponed = pool::postponed(slot);
  return postponed == pool::Postponed::no || postponed == pool::Postponed::failed ? Failure::failed : Failure::refused;
}

// This node is a stager, and what the storage refuses the stagers keep without their clients; what ranks make all nodes keep.
bool Exchange::is_kept_by_stagers(const SharedOutput& output) const {
  return tree_.is_stager(self_) && !pool::is_made_by_ranks(pool_.slot(output.key.slot));
}

std::vector<std::byte> Exchange::failure_message(FailureHead head, const std::string& what, const std::string& hint) {
  head.what_bytes = static_cast<std::uint32_t>(what.size());
  head.hint_bytes = static_cast<std::uint32_t>(hint.size());
  std::vector<std::byte> bytes;
  append(bytes, bytes_of(head));
  append(bytes, std::as_bytes(std::span(what)));
  append(bytes, std::as_bytes(std::span(hint)));
  return bytes;
}

std::vector<std::byte> Exchange::failure_message(const SharedOutput& output, SharedOutput::Failure failure) const {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  return failure_message({.error = slot.error.load(std::memory_order_acquire) - 1, .job_output = output.job_output,
                          .may_be_kept = failure == SharedOutput::Failure::refused ? 1U : 0U}, pool::message_of(slot), slot.hint.data());
}

// Along the tree, away from where it was heard of. What the storage of a stager refuses goes up to the root first, and the root's word down
// to all: clients that have been told that the stagers have all of it may have left, and then the stagers keep it.
void Exchange::tell_of_failure(SharedOutput& output, SharedOutput::Failure failure, int except) {
  pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const bool stager_refuses = failure == SharedOutput::Failure::refused && is_kept_by_stagers(output);
  if (stager_refuses && !parent_ && slot.nodes.job_closed.load(std::memory_order_acquire) != closed_and_at_stagers) {
    pool::set_postponed(slot, pool::Postponed::failed);
    return tell_of_failure(output, SharedOutput::Failure::failed, -1);
  }
  output.told_of_failure = failure;
  const auto bytes = failure_message(output, failure);
  const bool goes_up = parent_ && *parent_ != except;
  if (goes_up) all_.messages.send(*parent_, bytes);
  if (goes_up && stager_refuses) return;
  for (const int child : children_) {
    if (child != except || stager_refuses) all_.messages.send(child, bytes);
  }
}

void Exchange::on_failure(int peer, std::span<const std::byte> bytes) {
  const auto head = head_of<FailureHead>(bytes);
  SharedOutput* output = find(head.job_output);
  if (output == nullptr) return;
  if (head.is_nowhere != 0 && !std::exchange(output->is_nowhere_else, true)) output->said.reset();   // this node is all there is of it
  bytes = bytes.subspan(sizeof head);
  if (bytes.size() != std::size_t{head.what_bytes} + head.hint_bytes) {
    throw base::Error(base::Errc::io, "a message of another node is cut off");
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  pool::OutputSlot& slot = pool_.slot(output->key.slot);
  const bool are_stagers_to_keep_it = tree_.stagers() != 0 && !pool::is_made_by_ranks(slot);
  if (head.may_be_kept != 0 && are_stagers_to_keep_it && !tree_.is_stager(self_)) {   // a client needs nothing more of it
    pool::fail(slot, head.error, {text, head.what_bytes}, kept_by_stagers);
    output->told_of_failure = SharedOutput::Failure::failed;
    return pool::futex_signal(pool_.header().work);
  }
  const bool has_failed_here = slot.error_claimed.load() != 0;   // for another reason, where it has not been refused
  if (head.may_be_kept != 0 && !has_failed_here) pool::move_on(slot, pool::Postponed::no, pool::Postponed::refused);
  if (head.may_be_kept == 0 && (slot.is_bytes != 0 || tree_.is_stager(self_))) pool::set_postponed(slot, pool::Postponed::failed);
  pool::fail(slot, head.error, {text, head.what_bytes}, {text + head.what_bytes, head.hint_bytes});
  // None where the drain just fails it, too, and has not said yet why: then that is told.
  const auto failure = failure_of(slot);
  const bool is_worse = failure == SharedOutput::Failure::failed && head.may_be_kept != 0;   // than the peer knows
  const bool is_word_of_root = failure == SharedOutput::Failure::refused && is_kept_by_stagers(*output) && peer == parent_;
  if (failure > output->told_of_failure || is_word_of_root) tell_of_failure(*output, failure, is_worse ? -1 : peer);
  pool::futex_signal(pool_.header().work);
}

std::string Exchange::diagnose() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  if (!on_their_way_.empty()) {
    std::map<int, int> unanswered;
    for (const auto& [number, block] : on_their_way_) ++unanswered[block.node];
    for (const auto& [node, count] : unanswered) {
      texts.push_back(fmt::format("node {} has not taken {} of this node's exchange blocks", node, count));
    }
  }
  const std::size_t waiting = all_.incoming.size() + (apart_ ? apart_->incoming.size() : 0);
  if (waiting != 0) texts.push_back(fmt::format("{} exchange blocks of other nodes wait for room in the pool", waiting));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace glean::nodes
