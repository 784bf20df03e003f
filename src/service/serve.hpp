// SPDX-License-Identifier: BSD-3-Clause
//
// A process of its own that drains a pool, and outlives the application.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "drain/engine.hpp"
#include "drain/trace.hpp"
#include "pool/pool.hpp"
#include "transport/messages.hpp"

namespace glean::service {

using base::Bytes;

// Each of several nodes is drained by such a process, and they exchange what another one writes.
struct OtherNodes {
  std::unique_ptr<transport::Messages> messages;
  double deadline_seconds = 300;              // for the others to do their part
  std::function<void()> leave_together;       // no process needs a message of another one any more. Collective, blocks
};

// Something that goes on beside a drain: made when the engine is there, and ended before it stops.
using BesideDrain = std::function<std::shared_ptr<void>(drain::Engine& engine, pool::Pool& pool)>;

// Drains until the session is closed; if all its ranks are gone before, completes what they have left as recover() does,
// and removes the pool. Of several nodes what they cannot complete together stays in the pool. Calls `started` once it drains.
// `meanwhile` is called again and again while ranks may still capture. Returns an exit code: 0, or 1 when something could not be
// completed. Blocks.
[[nodiscard]] int serve(const std::string& pool, const std::function<void()>& started = {}, OtherNodes others = {},
                        const std::function<void(pool::Pool&)>& meanwhile = {}, const BesideDrain& beside = {});

// What serve() has left for the report in a pool whose session is closed; nothing if the helper was killed.
[[nodiscard]] std::optional<drain::DrainTrace> trace_left_in(const pool::Pool& pool);

}  // namespace glean::service
