// SPDX-License-Identifier: BSD-3-Clause
#include "service/lost_stagers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "pool/description.hpp"
#include "pool/lamport_clock.hpp"

namespace glean::service {
namespace {

std::string text_of(const auto& chars) { return {chars.data(), strnlen(chars.data(), chars.size())}; }

}  // namespace

pool::Pool make_place_anew(const pool::Pool& of_job, int node) {
  const pool::PoolHeader& job = of_job.header();
  plan::NodePlan plan = of_job.plan();
  plan.drain_cores.clear();
  const std::string name =
      "/glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + "." + std::to_string(base::now_ns());
  const pool::NodeShare share{text_of(job.session), static_cast<int>(job.nodes), node, static_cast<int>(job.stagers)};
  pool::Pool pool = pool::Pool::create(name, plan, 0, share);
  try {
    text_of(job.job).copy(pool.header().job.data(), pool.header().job.size() - 1);
    pool.header().is_made_anew = 1;
    pool.fault_in(0, 1);
    if (!pool.claim_all()) {
      throw base::Error(base::Errc::io, "cannot lock the pool's shared memory", "record locks have to work in /dev/shm");
    }
  } catch (...) {
    pool.remove();
    throw;
  }
  return pool;
}

void ask_stagers_again(LeftOutputs& all) {
  for (auto& [job_output, left] : all) {
    if (left.is_raw && left.is_renamed) left.has_publisher = false;   // all of it was durable then
    const bool is_over = !left.has_publisher && (left.is_renamed || left.is_made_by_ranks);   // it is published, or has failed there
    if (job_output == 0 || is_over || !left.error.empty()) continue;
    left.is_sent_again = left.is_raw;
    left.is_at_stagers = false;
    left.is_to_be_opened = true;
    if (left.kept_from_step > left.steps_durable) {
      left.error = "a stager is lost with what it had of it, and the pool of a node had no room to keep that (pool.budget)";
    }
  }
}

void begin_again(pool::Pool& pool, std::uint32_t index, const LeftOutput& left) {
  pool::OutputSlot& slot = pool.slot(index);
  if (pool.is_stager()) {
    pool::forget_description(pool, {index, slot.generation});
    slot.nodes.job_output = 0;
    slot.state = pool::OutputState::free;
    return;
  }
  slot.writes.written = slot.writes.written_before = 0;
  slot.writes.written_tick = slot.writes.job_written_tick = slot.writes.job_sent_tick = 0;
  pool::raise(slot.writes.job_durable_tick, left.ticks_durable);
}

}  // namespace glean::service
