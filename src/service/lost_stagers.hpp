// SPDX-License-Identifier: BSD-3-Clause
//
// Stagers whose pools are gone, of jobs whose nodes have kept what was not on the storage (`staging.keep`): each gets an empty pool, and
// the nodes send there again what they have.
#pragma once

#include <string>

#include "pool/pool.hpp"
#include "service/left_output.hpp"

namespace glean::service {

// A pool for the node `node` of the job that `of_job` belongs to. This process has claimed all of it. Throws no_space. Blocks.
[[nodiscard]] pool::Pool make_place_anew(const pool::Pool& of_job, int node);
// What is to be done for each output when some stagers have nothing of it any more: it is opened again at all of them, it is published, or
// it cannot be completed, because a node had no room for all of it.
void ask_stagers_again(LeftOutputs& all);
// Of a raw output that is sent again: a stager forgets what it still has of it, since only all of its writes together have an order;
// another node sends all that it has kept. Local.
void begin_again(pool::Pool& pool, std::uint32_t index, const LeftOutput& left);

}  // namespace glean::service
