// SPDX-License-Identifier: BSD-3-Clause
#include "service/left_output.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "drain/current_names.hpp"
#include "pool/description.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/name_log.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::service {

namespace {

bool is_in_place(const store::FileNames& names) { return !names.final_path.empty() && names.working_path == names.final_path; }

// What cannot be read has failed.
std::int64_t publisher_of(const pool::Pool& pool, std::uint32_t index) {
  try {
    const pool::OutputKey key{index, pool.slot(index).generation};
    return store::OutputDescription::decode(pool::read_description(pool, key).bytes).share.publisher;
  } catch (const base::Error&) {
    return 0;
  }
}

}  // namespace

store::OutputDescription names_of(const pool::Pool& pool, std::uint32_t index) {
  try {
    const pool::OutputKey key{index, pool.slot(index).generation};
    auto description = store::OutputDescription::decode_names(pool::read_description(pool, key).bytes);
    if (auto now = drain::current_names(pool, key); !now.final_path.empty()) description.names = std::move(now);   // empty: it was removed
    return description;
  } catch (const base::Error&) {
    return {};
  }
}

std::optional<std::string> find_renamed(const store::FileNames& names, const pool::OutputSlot& slot) {
  return is_in_place(names) ? std::nullopt : store::find_unclosed(names.final_path, slot.working_inode);
}

bool is_refused(const pool::Pool& pool, const pool::OutputSlot& slot) {
  const bool is_at_stagers = pool.is_staged() && !pool::is_made_by_ranks(slot) && slot.nodes.job_closed == nodes::closed_and_at_stagers;
  return is_at_stagers || pool::is_kept(slot) || pool::is_undecided(slot);
}

namespace {

// Begins an output in a message; the texts and the nodes follow.
struct Head {
  std::uint64_t output = 0;
  nodes::NodeProgress progress;
  std::uint64_t inode = 0, synchronized_writes = 0, kept_from_step = 0, steps_durable = 0, ticks_durable = 0;
  std::uint32_t error_bytes = 0, path_bytes = 0, working_path_bytes = 0, nodes = 0;
  bool has_publisher = false, is_in_place = false, is_raw = false, is_renamed = false, is_removed = false, is_at_stagers = false;
  bool has_stager = false, is_to_be_opened = false, is_made_by_ranks = false, was_opened = false;
};

// A stager speaks for its clients: those that have left have no pool any more. Those of a raw output leave when it is published.
void add_staging(const pool::Pool& pool, const pool::OutputSlot& slot, LeftOutput& left) {
  const auto all = static_cast<int>(pool.header().nodes), stagers = static_cast<int>(pool.header().stagers);
  if (stagers == 0) return;
  left.is_at_stagers = slot.nodes.job_closed == nodes::closed_and_at_stagers;
  const pool::AtStagers asked = slot.nodes.at_stagers;
  left.is_to_be_opened = !pool::is_made_by_ranks(slot) && (asked == pool::AtStagers::asked || asked == pool::AtStagers::asked_for_new_file);
  if (pool.is_staged()) return;
  left.has_stager = true;
  left.progress.steps_begun = slot.nodes.job_steps_begun;
  if (!left.is_at_stagers || pool::is_made_by_ranks(slot)) return;
  left.progress.steps_ended = slot.nodes.job_steps_ended;
  for (int client = 0; client < all - stagers; ++client) left.nodes.insert(client);
}

// No rank goes on with an output, and no node hears of the others, before all have opened it.
bool have_all_opened(const pool::Pool& pool, const pool::OutputSlot& slot, const nodes::NodeProgress& progress) {
  if (slot.nodes.job_last_rank != nodes::NodeProgress::no_rank) return true;
  return pool.header().ranks != 0 && (progress.steps_begun != 0 || progress.closed != 0 || pool::writes_begun(slot) != 0);
}

LeftOutput left_of(const pool::Pool& pool, std::uint32_t index) {
  const pool::OutputSlot& slot = pool.slot(index);
  const pool::OutputKey key{index, slot.generation};
  const store::OutputDescription description = names_of(pool, index);
  LeftOutput left;
  left.progress = nodes::progress_of(pool, index);
  left.nodes.insert(static_cast<int>(pool.header().node));
  left.has_publisher = publisher_of(pool, index) == static_cast<std::int64_t>(pool.header().node);
  left.inode = slot.publishing_inode;
  left.synchronized_writes = slot.synchronized_writes;
  left.kept_from_step = slot.nodes.kept_from_step;
  left.steps_durable = slot.nodes.job_steps_synchronized;
  left.ticks_durable = slot.writes.job_durable_tick;
  left.is_made_by_ranks = pool::is_made_by_ranks(slot);
  left.was_opened = have_all_opened(pool, slot, left.progress);
  left.is_in_place = is_in_place(description.names);
  left.is_raw = slot.is_bytes != 0;
  left.is_renamed = find_renamed(description.names, slot).has_value();
  left.is_removed = slot.is_renamed == pool::is_removed_output;
  add_staging(pool, slot, left);
  if (slot.error != 0 && !is_refused(pool, slot)) left.error = pool::message_of(slot);
  // What the program has made of its name since it was closed is known on the node of the rank that has renamed it.
  if (const auto now = pool::new_name_of(pool, key); now && !now->is_removed) {
    left.new_path = now->final_path;
    left.new_working_path = now->working_path;
  }
  return left;
}

void add(LeftOutputs& all, std::uint64_t output, const LeftOutput& left) {
  const auto [known, is_new] = all.try_emplace(output, left);
  if (!is_new) known->second.join(left);
}

}  // namespace

void LeftOutput::join(const LeftOutput& other) {
  progress.join(other.progress);
  nodes.insert(other.nodes.begin(), other.nodes.end());
  if (other.has_publisher) inode = other.inode;
  synchronized_writes = std::max(synchronized_writes, other.synchronized_writes);
  kept_from_step = std::max(kept_from_step, other.kept_from_step);
  steps_durable = std::max(steps_durable, other.steps_durable);
  ticks_durable = std::max(ticks_durable, other.ticks_durable);
  is_made_by_ranks = is_made_by_ranks || other.is_made_by_ranks;
  was_opened = was_opened || other.was_opened;
  has_publisher = has_publisher || other.has_publisher;
  is_in_place = is_in_place || other.is_in_place;
  is_raw = is_raw || other.is_raw;
  is_renamed = is_renamed || other.is_renamed;
  is_removed = is_removed || other.is_removed;
  is_at_stagers = is_at_stagers || other.is_at_stagers;
  has_stager = has_stager || other.has_stager;
  is_to_be_opened = is_to_be_opened || other.is_to_be_opened;
  if (error.empty()) error = other.error;
  if (other.new_path.empty()) return;
  new_path = other.new_path;
  new_working_path = other.new_working_path;
}

bool LeftOutput::is_published() const {
  if (has_publisher || is_to_be_opened || !error.empty()) return false;
  const bool is_of_stagers = is_at_stagers && !has_stager;
  return is_of_stagers || is_renamed || ((is_in_place || is_raw) && progress.part_durable != 0);
}

bool LeftOutput::needs(const std::vector<int>& missing) const {
  if (!was_opened || !error.empty() || (is_removed && new_path.empty()) || is_published()) return false;
  return std::any_of(missing.begin(), missing.end(), [&](int node) { return !nodes.contains(node); });
}

LeftOutputs left_in(const pool::Pool& pool) {
  LeftOutputs all;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (slot.state.load() == pool::OutputState::open) add(all, slot.nodes.job_output, left_of(pool, index));
  }
  return all;
}

void join(LeftOutputs& all, const LeftOutputs& more) {
  for (const auto& [output, left] : more) add(all, output, left);
}

std::string encode(const LeftOutputs& outputs) {
  std::string bytes;
  for (const auto& [output, left] : outputs) {
    Head head{};
    head.output = output;
    head.progress = left.progress;
    head.inode = left.inode;
    head.synchronized_writes = left.synchronized_writes;
    head.kept_from_step = left.kept_from_step;
    head.steps_durable = left.steps_durable;
    head.ticks_durable = left.ticks_durable;
    head.is_made_by_ranks = left.is_made_by_ranks;
    head.error_bytes = static_cast<std::uint32_t>(left.error.size());
    head.path_bytes = static_cast<std::uint32_t>(left.new_path.size());
    head.working_path_bytes = static_cast<std::uint32_t>(left.new_working_path.size());
    head.nodes = static_cast<std::uint32_t>(left.nodes.size());
    head.has_publisher = left.has_publisher;
    head.is_in_place = left.is_in_place;
    head.is_raw = left.is_raw;
    head.is_renamed = left.is_renamed;
    head.is_removed = left.is_removed;
    head.is_at_stagers = left.is_at_stagers;
    head.has_stager = left.has_stager;
    head.is_to_be_opened = left.is_to_be_opened;
    head.was_opened = left.was_opened;
    bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += left.error + left.new_path + left.new_working_path;
    for (const int node : left.nodes) bytes.append(reinterpret_cast<const char*>(&node), sizeof node);
  }
  return bytes;
}

LeftOutputs decode(std::string_view bytes) {
  LeftOutputs outputs;
  const auto take = [&](std::size_t size) {
    if (bytes.size() < size) throw base::Error(base::Errc::io, "what another process says of a job is cut off");
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  };
  while (!bytes.empty()) {
    Head head;
    std::memcpy(&head, take(sizeof head).data(), sizeof head);
    LeftOutput left{.progress = head.progress, .nodes = {}, .inode = head.inode, .synchronized_writes = head.synchronized_writes,
                    .kept_from_step = head.kept_from_step, .steps_durable = head.steps_durable, .ticks_durable = head.ticks_durable,
                    .has_publisher = head.has_publisher, .is_in_place = head.is_in_place, .is_raw = head.is_raw,
                    .is_renamed = head.is_renamed, .is_removed = head.is_removed, .is_at_stagers = head.is_at_stagers,
                    .has_stager = head.has_stager, .is_made_by_ranks = head.is_made_by_ranks, .was_opened = head.was_opened,
                    .is_to_be_opened = head.is_to_be_opened, .error = std::string(take(head.error_bytes)),
                    .new_path = std::string(take(head.path_bytes)), .new_working_path = std::string(take(head.working_path_bytes))};
    for (std::uint32_t i = 0; i < head.nodes; ++i) {
      int node = 0;
      std::memcpy(&node, take(sizeof node).data(), sizeof node);
      left.nodes.insert(node);
    }
    outputs.emplace(head.output, std::move(left));
  }
  return outputs;
}

}  // namespace glean::service
