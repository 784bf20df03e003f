// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs that ranks of several nodes open together. On each node it has a slot; the rank that makes it there is the first of that
// node that opens it, and the first of node 0 makes the file.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/published.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"

namespace glean::session {
namespace {

int greatest(MPI_Comm comm, int mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, comm);
  return mine;
}

// What rank `root` has made, on all ranks; throws on all what it threw. Collective.
template <class Action>
Proposed from(MPI_Comm comm, int root, Action make) {
  struct {
    Proposed made;
    bool failed = false;
  } told;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::optional<base::Error> error;
  if (rank == root) error = caught([&] { make(told.made); });
  told.failed = error.has_value();
  MPI_Bcast(&told, sizeof told, MPI_BYTE, root, comm);
  if (told.failed) throw base::Error(error_of(comm, root, error));
  return told.made;
}

// What all nodes call it.
std::uint64_t job_output(const Proposed& made) { return made.generation << 32 | made.slot; }

// No node goes on with it: their drains remove what there is.
void abandon(Core& core, const Members& members, pool::OutputKey key) {
  for (const int rank : members.node_ranks) {
    core.pool().rank_progress(key.slot, rank).store(1 | pool::rank_closed | pool::rank_abandoned, std::memory_order_release);
  }
  core.recorder().ring_the_drain();
}

// Ranks of this node write it from now on, in a tick that all nodes have reached.
void begin(Core& core, pool::OutputKey key, const Proposed& made, std::uint64_t tick) {
  pool::OutputSlot& slot = core.pool().slot(key.slot);
  slot.writes.job_written_tick = slot.writes.job_sent_tick = tick;
  slot.writes.begun = pool::WriteStamp{tick, 0}.word();
  pool::raise_tick(core.pool(), core.pool().header().lamport_tick.load());   // another rank may have gone on
  core.share(job_output(made), key);
}

// Stagers know nothing of what was closed before: bytes that are there change when that is durable.
void wait_for_what_is_before(Core& core, pool::OutputKey key) {
  const auto before = [&] { return pool::what_is_before(core.pool(), key.slot); };
  wait_until(core, [&] { return before() != pool::Before::draining; }, "what was closed before it");
  if (before() != pool::Before::kept) return;
  throw base::Error(base::Errc::io, "what was closed before it is not durable, because the storage has refused it");
}

// All stagers have the file open then.
void open_at_stagers(Core& core, pool::OutputKey key, const Proposed& made) {
  const pool::OutputSlot& slot = core.pool().slot(key.slot);
  const bool is_new = made.is_at_stagers && !made.replaces;
  core.open_at_stagers(key, is_new ? pool::AtStagers::asked_for_new_file : pool::AtStagers::asked);
  core.wait_for_stagers(key);
  const std::uint32_t error = slot.error.load(std::memory_order_acquire);
  if (error != 0) throw base::Error(static_cast<base::Errc>(error - 1), pool::message_of(slot), slot.hint.data());
}

// What another rank of this node has begun, and no rank has closed.
pool::OutputKey find_shared(const pool::Pool& pool, const Proposed& made) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (is_open(slot) && slot.nodes.job_output.load(std::memory_order_acquire) == job_output(made)) {
      return {index, slot.generation.load(std::memory_order_acquire)};
    }
  }
  throw base::Error(base::Errc::io, fmt::format("'{}' is not in the pool of this node", made.final_path.data()));
}

}  // namespace

MadeOutput open_on_all_nodes(Core& core, MPI_Comm comm, const std::string& path, ByteOutput::Existing existing,
                             const StripingHints& of_program, ByteOutput::Where where) {
  const Members members = members_of(core, comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int root = greatest(comm, core.nodes().self() == 0 ? members.first : -1);
  const Proposed made = from(comm, root, [&](Proposed& value) {
    if (where == ByteOutput::Where::at_stagers) make_output_at_stagers(core, members, path, value);
    else make_output(core, members, path, existing, of_program, value);
  });
  std::optional<pool::OutputKey> key;
  const auto failed = caught([&] {
    if (!members.leads) return;
    if (rank == root) key = {static_cast<std::uint32_t>(made.slot), static_cast<std::uint32_t>(made.generation)};
    else key = join_output(core, members, path, made);
    core.open_on_this_node(*key);
    if (rank == root && core.pool().is_staged() && made.is_in_place) wait_for_what_is_before(core, *key);
  });
  auto of_any = caught([&] { agree(comm, failed); });
  if (!of_any && core.pool().is_staged()) {   // all nodes hear what becomes of it there
    if (key && rank != root) core.share(job_output(made), *key);
    of_any = caught([&] { agree(comm, rank == root ? caught([&] { open_at_stagers(core, *key, made); }) : std::nullopt); });
  }
  if (of_any) {
    if (key) abandon(core, members, *key);
    throw base::Error(*of_any);
  }
  std::uint64_t tick = std::max<std::uint64_t>(1, core.pool().header().lamport_tick.load());   // before 1 nothing is sent
  MPI_Allreduce(MPI_IN_PLACE, &tick, 1, MPI_UINT64_T, MPI_MAX, comm);
  pool::raise_tick(core.pool(), tick);
  if (key) begin(core, *key, made, tick);
  MPI_Barrier(comm);
  return {key ? *key : find_shared(core.pool(), made), made.is_in_place, made.working_path.data(),
          made.replaces ? std::optional<base::Bytes>(made.size) : std::nullopt};
}

}  // namespace glean::session
