// SPDX-License-Identifier: BSD-3-Clause
//
// What this node has captured and another one writes, until the exchange sends it; and checksums of what it has written, and what it has
// found out of it.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "drain/engine.hpp"
#include "pool/futex.hpp"

namespace glean::drain {
namespace {

constexpr std::size_t reads_max = 4;   // payloads that are in the engine's memory at a time, a chunk each
constexpr std::uint64_t kept_in_the_way_max_ns = 1'000'000'000;   // ranks of other nodes may just be about to end the step, too

}  // namespace

std::optional<ExchangeBlock> Engine::next_block(const std::set<int>& held) {
  const std::lock_guard lock(mutex_);
  auto& queue = blocks_.queue;
  const auto next = std::find_if(queue.begin(), queue.end(), [&](const ExchangeBlock& each) { return !held.contains(each.node); });
  if (next == queue.end() || (next->spilled_by && !next->is_read())) return std::nullopt;
  ExchangeBlock block = std::move(*next);
  queue.erase(next);
  if (OutputDrain* const output = find(block.output)) output->block_leaves();
  if (block.spilled_by) {
    --blocks_.read;
    ++read_and_sent_;
  }
  return block;
}

void Engine::answered(const ExchangeBlock& block, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (block.spilled_by) {
    --read_and_sent_;
    pool::futex_signal(pool_.header().work);   // the next can be read
  }
  OutputDrain* output = find(block.output);
  if (output == nullptr) return;
  output->block_is_back();
  if (answer == Answer::arrived) output->arrived(block);
  after_change(*output);
}

void Engine::hold_kept(bool holds) {
  const std::lock_guard lock(mutex_);
  holds_kept_ = holds;
}

void Engine::send_again(int node) {
  const std::lock_guard lock(mutex_);
  for (auto it = outputs_.begin(); it != outputs_.end();) {
    OutputDrain& output = *(it++)->second;
    output.send_again(node);
    after_change(output);
  }
}

void Engine::take_back(ExchangeBlock block) {
  const std::lock_guard lock(mutex_);
  if (block.spilled_by) --read_and_sent_;
  OutputDrain* const output = find(block.output);
  if (output == nullptr) return;
  output->block_is_back();
  if (block.spilled_by) ++blocks_.read;
  blocks_.queue.push_front(std::move(block));
}

std::optional<Engine::Sums> Engine::take_sums(pool::OutputKey key) {
  const std::lock_guard lock(mutex_);
  OutputDrain* output = find(key);
  if (output == nullptr) return std::nullopt;
  Sums sums;
  // The node that publishes bytes reads them back.
  if (output->stream() == nullptr && output->about().checksums.state() != SumsState::off) {
    sums = {output->about().checksums.take(), output->about().checksums.are_lost()};
  }
  const analysis::OutputResults results = analyst_.results(key);
  if (!results.empty()) {
    base::Encoder out;
    results.encode(out);
    sums.results = out.take();
  }
  return sums;
}

void Engine::add_sums(pool::OutputKey key, const Sums& sums) {
  const std::lock_guard lock(mutex_);
  OutputDrain* output = find(key);
  if (output == nullptr) return;
  output->about().checksums.add(sums.sums);
  if (sums.lost) output->about().checksums.lose();
  if (!sums.results.empty()) analyst_.add(key, analysis::OutputResults::decode(sums.results));
}

// Ranks wait for room. True: what is kept until it is durable makes some by itself; after a while in which it does not it is given back.
bool Engine::waits_for_kept() {
  bool is_kept = false, will_make_room = false;
  for (const auto& [key, output] : outputs_) {
    is_kept = is_kept || !output->kept().is_empty();
    will_make_room = output->kept().will_make_room() || will_make_room;
  }
  if (!is_kept) return false;
  const std::uint64_t now = base::now_ns();
  if (holds_kept_ || will_make_room || kept_in_the_way_since_ns_ == 0) {
    kept_in_the_way_since_ns_ = now;
    return true;
  }
  if (now - kept_in_the_way_since_ns_ < kept_in_the_way_max_ns) return true;
  for (const auto& [key, output] : outputs_) {
    output->kept().give_up();
    space_returned_ |= std::exchange(output->about().space_returned, false);
  }
  tell_of_space();
  return false;
}

std::optional<Job> Engine::next_read() {
  const std::size_t in_memory = static_cast<std::size_t>(reads_in_flight_ + read_and_sent_) + blocks_.read;
  if (blocks_.to_read.empty() || in_memory >= reads_max) return std::nullopt;
  ExchangeBlock& block = *blocks_.to_read.front();
  blocks_.to_read.pop_front();
  OutputDrain* output = find(block.output);   // or it would have forgotten the block
  output->work().job_began();
  ++reads_in_flight_;
  return Job{.kind = Job::Kind::read, .output = output, .window = nullptr, .block = &block, .read = std::make_shared<ExchangeBlock>(block)};
}

void Engine::has_read(const Job& job) {
  job.block->buffer = std::move(job.read->buffer);
  job.block->payload = job.read->payload;
  ++blocks_.read;
}

void Engine::read_spilled(const Job& job) {
  ExchangeBlock& block = *job.read;
  std::optional<DamagedSpill> damage;
  try {
    block.payload = payload_of(block, spill_.read(*block.record, *block.spilled_by, block.buffer));
  } catch (const DamagedSpill& error) {
    const auto& description = job.output->about().description;
    const bool is_raw = job.output->stream() != nullptr;
    damage = lost_payload(error, is_raw ? "bytes" : description.layout.target(block.variable).name, description.display_path,
                          is_raw ? 0 : block.step);
  } catch (const base::Error& error) {
    return finish_job(job, &error);
  }
  finish_job(job, damage ? &*damage : nullptr);
  pool::futex_signal(pool_.header().progress);   // the exchange, which sends it, may sleep
}

}  // namespace glean::drain
