// SPDX-License-Identifier: BSD-3-Clause
//
// What a session does besides where stagers write for it.
#include <cerrno>
#include <string>

#include "base/log.hpp"
#include "pool/futex.hpp"
#include "pool/wait.hpp"
#include "session/agreement.hpp"
#include "session/core.hpp"
#include "session/staging.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t opening_nap_ns = 100'000'000;

}  // namespace

// The root asks the stagers whether they take the job, before there are pools: what a node sends must find room in a chunk of a stager.
void Core::ask_stagers(const std::string& session) {
  stagers_ = on_root<int>(comm_, [&](int& value) {
    stagers_of_job_ = std::make_unique<StagersOfJob>(settings().staging, deadline_seconds_);
    const std::string label = std::string(program_invocation_short_name) + ", " + std::to_string(ranks_) + " ranks";
    plan_.chunk_bytes = stagers_of_job_->join(session, label, nodes_->count(), plan_.chunk_bytes, plan_.request_bytes);
    value = stagers_of_job_->count();
  });
  if (nodes_->is_aggregator()) broadcast(nodes_->aggregators(), 0, &plan_.chunk_bytes, sizeof plan_.chunk_bytes);
}

void Core::join_stagers() {
  agree(comm_, caught([&] {
    if (stagers_of_job_) stagers_of_job_->begin();
  }));
  agree(comm_, caught([&] {
    if (!nodes_->is_aggregator()) return;
    const WayToStagers way = way_to_stagers(nodes_->aggregators(), stagers_of_job_.get());
    auto messages = connect_to_stagers(*nodes_, way, deadline_seconds_, settings().staging.restart_seconds);
    exchange_ = std::make_unique<ExchangeThread>(*pool_, drain_->engine(), std::move(messages), nullptr, way.names);
    if (way.places) exchange_->find_places(*way.places, way.key_of_service);
  }));
  files_of_stagers_ = session::files_of_stagers(comm_, stagers_of_job_.get(), settings().staging, deadline_seconds_);
  stagers_of_job_.reset();
  if (exchange_) outputs_->set_exchange(&exchange_->exchange());
  if (rank_ == 0) base::log(base::LogLevel::info, "stagers that write for this session: {}", stagers_);
}

void Core::open_at_stagers(pool::OutputKey key, pool::AtStagers ask) {
  pool_->slot(key.slot).nodes.at_stagers.store(ask, std::memory_order_release);
  share(std::uint64_t{key.generation} << 32 | key.slot, key);
}

void Core::wait_for_stagers(pool::OutputKey key) {
  const pool::OutputSlot& slot = pool_->slot(key.slot);
  pool::Wait wait(pool_->header().progress, deadline_seconds_, opening_nap_ns);
  const bool is_known = wait.until([&] {
    const bool is_open = slot.nodes.at_stagers.load(std::memory_order_acquire) == pool::AtStagers::open;
    if (is_open || slot.error.load(std::memory_order_acquire) != 0) return true;
    if (const auto lost = outputs_->drain_is_lost()) throw base::Error(*lost);
    return false;
  });
  if (!is_known) throw base::Error(base::Errc::timeout, "waited " + wait.text() + " for the stagers to open the file");
}

}  // namespace glean::session
