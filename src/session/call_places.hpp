// SPDX-License-Identifier: BSD-3-Clause
//
// The memory in which the ranks of a node say which collective call they are in: the node's pool, or, where nothing is captured and there
// is no pool, a little shared memory without a name.
#pragma once

#include <memory>

#include "pool/pool.hpp"
#include "session/nodes.hpp"

namespace glean::session {

class CallPlaces {
 public:
  virtual ~CallPlaces() = default;
  [[nodiscard]] virtual int ranks() const = 0;                // of this node
  [[nodiscard]] virtual bool spans_nodes() const = 0;         // ranks of other nodes make the same calls
  [[nodiscard]] virtual int job_rank(int rank) const = 0;     // for messages
  [[nodiscard]] virtual pool::RankCall& of_rank(int rank) const = 0;
  [[nodiscard]] virtual pool::SessionCalls& of_session() const = 0;
  // Changes when the drain has written something.
  [[nodiscard]] virtual std::uint64_t progress() const = 0;
};

// `pool` must live as long. Local.
[[nodiscard]] std::unique_ptr<CallPlaces> call_places_in(pool::Pool& pool);
// nullptr on all ranks of the node where there can be none. `job_rank`: of this rank. Collective over nodes.comm().
[[nodiscard]] std::unique_ptr<CallPlaces> make_call_places(const Nodes& nodes, int job_rank);

}  // namespace glean::session
