// SPDX-License-Identifier: BSD-3-Clause
//
// What this node has captured and another one writes, on its way to whoever sends it; and checksums of what it has written.
#include <utility>

#include "drain/engine.hpp"
#include "pool/futex.hpp"

namespace glean::drain {
namespace {

constexpr std::size_t reads_max = 4;   // payloads that are in the engine's memory at a time, a chunk each

}  // namespace

std::optional<Parcel> Engine::next_parcel() {
  const std::lock_guard lock(mutex_);
  auto& queue = parcels_.queue;
  if (queue.empty() || (queue.front().spilled_by && !queue.front().is_read())) return std::nullopt;
  Parcel parcel = std::move(queue.front());
  queue.pop_front();
  if (parcel.spilled_by) {
    --parcels_.read;
    ++read_and_sent_;
  }
  return parcel;
}

void Engine::answered(const Parcel& parcel, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (parcel.spilled_by) {
    --read_and_sent_;
    pool::futex_signal(pool_.header().work);   // the next can be read
  }
  OutputDrain* output = find(parcel.output);
  if (output == nullptr || answer == Answer::refused) return;
  output->arrived(parcel);
  after_change(*output);
}

std::optional<Engine::Sums> Engine::take_sums(pool::OutputKey key) {
  const std::lock_guard lock(mutex_);
  OutputDrain* output = find(key);
  if (output == nullptr || output->about().checksums.state() == SumsState::off) return std::nullopt;
  if (output->stream() != nullptr) return std::nullopt;   // the node that publishes it reads it back
  return Sums{output->about().checksums.take(), output->about().checksums.are_lost()};
}

void Engine::add_sums(pool::OutputKey key, const Sums& sums) {
  const std::lock_guard lock(mutex_);
  OutputDrain* output = find(key);
  if (output == nullptr) return;
  output->about().checksums.add(sums.sums);
  if (sums.lost) output->about().checksums.lose();
}

std::optional<Job> Engine::next_read() {
  const std::size_t in_memory = static_cast<std::size_t>(reads_in_flight_ + read_and_sent_) + parcels_.read;
  if (parcels_.to_read.empty() || in_memory >= reads_max) return std::nullopt;
  Parcel& parcel = *parcels_.to_read.front();
  parcels_.to_read.pop_front();
  OutputDrain* output = find(parcel.output);   // or it would have forgotten the parcel
  output->work().job_began();
  ++reads_in_flight_;
  return Job{.kind = Job::Kind::read, .output = output, .window = nullptr, .parcel = &parcel, .read = std::make_shared<Parcel>(parcel)};
}

void Engine::has_read(const Job& job) {
  job.parcel->block = std::move(job.read->block);
  job.parcel->payload = job.read->payload;
  ++parcels_.read;
}

void Engine::read_spilled(const Job& job) {
  Parcel& parcel = *job.read;
  std::optional<DamagedSpill> damage;
  try {
    parcel.payload = payload_of(parcel, spill_.read(*parcel.record, *parcel.spilled_by, parcel.block));
  } catch (const DamagedSpill& error) {
    const auto& description = job.output->about().description;
    damage = lost_payload(error, description.layout.variables[parcel.variable].name, description.display_path, parcel.step);
  } catch (const base::Error& error) {
    return finish_job(job, &error);
  }
  finish_job(job, damage ? &*damage : nullptr);
  pool::futex_signal(pool_.header().progress);   // who sends it may sleep
}

}  // namespace glean::drain
