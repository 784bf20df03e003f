// SPDX-License-Identifier: BSD-3-Clause
#include "service/serve.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "drain/engine.hpp"
#include "drain/trace_json.hpp"
#include "pool/futex.hpp"
#include "service/node.hpp"
#include "service/recovery.hpp"

namespace glean::service {
namespace {

using Meanwhile = std::function<void(pool::Pool&)>;

constexpr double parting_seconds = 5;   // nothing has moved for so long: the ranks of other nodes do not come any more

// No rank captures any more, so the place of the data is free.
void leave_trace(pool::Pool& pool, drain::DrainTrace trace) {
  pool::PoolHeader& header = pool.header();
  const Bytes room = header.chunk_count * header.chunk_bytes;
  std::string text = drain::trace_to_json(trace);
  if (text.size() > room) {
    trace.intervals.clear();
    text = drain::trace_to_json(trace);
  }
  if (text.size() > room) return;
  std::memcpy(pool.at(header.chunks_offset), text.data(), text.size());
  header.trace_bytes.store(text.size(), std::memory_order_release);
}

bool is_closed(const pool::Pool& pool) {
  return pool.header().session_state.load(std::memory_order_acquire) == pool::SessionState::closed;
}

bool any_incomplete(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    const bool is_open = slot.state.load(std::memory_order_acquire) == pool::OutputState::open;
    if (is_open && slot.error.load(std::memory_order_acquire) == 0) return true;
  }
  return false;
}

bool any_rank_or_session(const pool::Pool& pool) { return !is_closed(pool) && any_rank_lives(pool); }

std::shared_ptr<void> made_beside(const BesideDrain& beside, drain::Engine& engine, pool::Pool& pool) {
  return beside ? beside(engine, pool) : nullptr;
}

int serve_with_others(std::unique_ptr<pool::Pool> pool, const std::function<void()>& started, OtherNodes others,
                      const Meanwhile& meanwhile, const BesideDrain& beside) {
  store::SystemCalls calls;
  bool is_left = false, is_moving = false;
  {
    drain::Engine engine(*pool, pool->plan(), calls, drain::Ranks::working, drain::Process::own);
    pool::futex_signal(pool->header().progress);
    if (started) started();
    std::shared_ptr<void> aside = made_beside(beside, engine, *pool);
    Node node(*pool, engine, std::move(others.messages));
    const auto ends = [&] {
      if (meanwhile) meanwhile(*pool);
      return !any_rank_or_session(*pool);
    };
    const auto is_over = [&](double still_seconds) {
      if (is_closed(*pool)) return !node.holds_any() || still_seconds > others.deadline_seconds;
      return !any_incomplete(*pool) || still_seconds > parting_seconds;
    };
    try {
      node.run(ends, is_over);
      node.turn();   // tells of what has failed just now
    } catch (const base::Error& error) {
      node.part();
      tell_of_loss(*pool, error);
    }
    const bool closed = is_closed(*pool);
    if (closed && node.holds_any()) {
      base::log(base::LogLevel::error, "the writer of node {}: nothing has come from other nodes for {}: {}", pool->header().node,
                base::exact_seconds(others.deadline_seconds), node.exchange().diagnose());
    }
    if (closed) others.leave_together();
    is_left = (!closed || pool->header().lost_nodes != 0) && any_incomplete(*pool);
    is_moving = node.exchange().is_moving();
    aside.reset();
    engine.stop(is_left ? drain::Engine::Unfinished::leave : drain::Engine::Unfinished::discard);
    if (closed) leave_trace(*pool, engine.trace());
  }
  if (is_left) {
    base::log(base::LogLevel::warning, "the ranks of node {} are gone: `mpirun --map-by ppr:1:node glean recover` completes what all "
              "ranks have captured", pool->header().node);
  } else {
    pool->remove();
  }
  if (is_moving) static_cast<void>(pool.release());   // MPI may still write to it
  return is_left ? 1 : 0;
}

int serve_alone(pool::Pool& pool, const std::function<void()>& started, const Meanwhile& meanwhile, const BesideDrain& beside) {
  store::SystemCalls calls;
  bool closed = false;
  {
    drain::Engine engine(pool, pool.plan(), calls, drain::Ranks::working, drain::Process::own);
    pool::futex_signal(pool.header().progress);   // the process that has started this one waits for it
    if (started) started();
    std::shared_ptr<void> aside = made_beside(beside, engine, pool);
    const auto ends = [&] {
      if (meanwhile) meanwhile(pool);
      return !any_rank_or_session(pool);
    };
    Node(pool, engine).run(ends, [](double) { return true; });
    closed = is_closed(pool);
    aside.reset();
    engine.stop(closed ? drain::Engine::Unfinished::discard : drain::Engine::Unfinished::leave);
    if (closed && !try_what_is_kept(pool, calls)) return 1;
    if (closed) leave_trace(pool, engine.trace());
  }
  if (closed) {
    pool.remove();   // the rank that has closed the session has it mapped, and may be killed before it removes the name
    return 0;
  }
  base::log(base::LogLevel::warning, "the ranks of {} are gone: completing what they have captured", pool.name());
  const Recovered recovered = complete(pool, calls);
  log(recovered);
  return recovered.pool_removed ? 0 : 1;
}

}  // namespace

int serve(const std::string& name, const std::function<void()>& started, OtherNodes others,
          const std::function<void(pool::Pool&)>& meanwhile, const BesideDrain& beside) {
  auto pool = std::make_unique<pool::Pool>(pool::Pool::attach(name));
  if (!pool->claim_drain()) {
    throw base::Error(base::Errc::invalid_state, "another process drains the pool '" + name + "'");
  }
  if (!pool->is_shared()) return serve_alone(*pool, started, meanwhile, beside);
  if (!others.messages) throw base::Error(base::Errc::unsupported, "other nodes belong to the pool '" + name + "', and are not here");
  return serve_with_others(std::move(pool), started, std::move(others), meanwhile, beside);
}

std::optional<drain::DrainTrace> trace_left_in(const pool::Pool& pool) {
  const pool::PoolHeader& header = pool.header();
  const Bytes bytes = header.trace_bytes.load(std::memory_order_acquire);
  if (bytes == 0 || bytes > header.chunk_count * header.chunk_bytes) return std::nullopt;
  const char* text = reinterpret_cast<const char*>(pool.at(header.chunks_offset));
  return drain::trace_from_json({text, text + bytes});
}

}  // namespace glean::service
