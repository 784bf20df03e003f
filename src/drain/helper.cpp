// SPDX-License-Identifier: BSD-3-Clause
#include "drain/helper.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "drain/engine.hpp"
#include "drain/recovery.hpp"
#include "drain/trace_json.hpp"
#include "pool/futex.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t look_ns = 50'000'000;

// Nobody captures any more, so the place of the data is free.
void leave_trace(pool::Pool& pool, DrainTrace trace) {
  pool::PoolHeader& header = pool.header();
  const Bytes room = header.chunk_count * header.chunk_bytes;
  std::string text = trace_to_json(trace);
  if (text.size() > room) {
    trace.intervals.clear();
    text = trace_to_json(trace);
  }
  if (text.size() > room) return;
  std::memcpy(pool.at(header.chunks_offset), text.data(), text.size());
  header.trace_bytes.store(text.size(), std::memory_order_release);
}

bool any_rank_lives(const pool::Pool& pool) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (pool.process_of_rank(rank) != 0) return true;
  }
  return false;
}

}  // namespace

int serve(const std::string& name) {
  pool::Pool pool = pool::Pool::attach(name);
  pool::PoolHeader& header = pool.header();
  if (!pool.claim_drain()) {
    throw base::Error(base::Errc::invalid_state, "another process drains the pool '" + name + "'");
  }
  store::SystemCalls calls;
  bool closed = false;
  {
    Engine engine(pool, pool.plan(), calls);
    pool::futex_signal(header.progress);   // whoever has started this process waits for it
    do {
      const std::uint32_t seen = header.progress.load(std::memory_order_acquire);
      closed = header.session_state.load(std::memory_order_acquire) == pool::SessionState::closed;
      if (!closed) pool::futex_wait(header.progress, seen, look_ns);
    } while (!closed && any_rank_lives(pool));
    engine.stop(closed ? Engine::Unfinished::discard : Engine::Unfinished::leave);
    if (closed) leave_trace(pool, engine.trace());
  }
  if (closed) {
    pool.remove();   // whoever has closed the session has it mapped, and may be killed before it removes the name
    return 0;
  }
  base::log(base::LogLevel::warning, "the ranks of {} are gone: completing what they have captured", pool.name());
  const Recovered recovered = complete(pool, calls);
  log(recovered);
  return recovered.pool_removed ? 0 : 1;
}

std::optional<DrainTrace> trace_left_in(const pool::Pool& pool) {
  const pool::PoolHeader& header = pool.header();
  const Bytes bytes = header.trace_bytes.load(std::memory_order_acquire);
  if (bytes == 0 || bytes > header.chunk_count * header.chunk_bytes) return std::nullopt;
  const char* text = reinterpret_cast<const char*>(pool.at(header.chunks_offset));
  return trace_from_json({text, text + bytes});
}

}  // namespace glean::drain
