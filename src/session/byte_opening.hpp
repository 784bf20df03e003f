// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs in the node's pool: finding them, and making one.
#pragma once

#include <mpi.h>
#include <sys/stat.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "session/byte_output.hpp"
#include "session/core.hpp"

namespace glean::session {

[[nodiscard]] bool is_open(const pool::OutputSlot& slot);
// The slot is still that output's. Local.
[[nodiscard]] bool is_current(const pool::Pool& pool, pool::OutputKey key);
[[nodiscard]] bool any_is_open(const pool::Pool& pool);
// By all ranks of the node.
[[nodiscard]] bool is_closed_by_all(const pool::Pool& pool, std::uint32_t index);
// Those of bytes that not all ranks of the node have closed, and that are kept if that stays so: they have not failed, and are written in
// place or were synchronized.
[[nodiscard]] std::vector<pool::OutputKey> open_and_kept(const pool::Pool& pool);

// Whether a file is that of the slot: any is, until the drain has opened its own. Local.
[[nodiscard]] bool is_working_file(const pool::OutputSlot& slot, const struct stat& status);
// Nor is there none of that name. Local.
[[nodiscard]] bool is_working_file(const pool::OutputSlot& slot, const std::string& path);

// Renames the working file of the slot to its final name, at once with ranks of other nodes. Returns an errno; 0: it has that name. ENOENT:
// the program has removed it. Local.
[[nodiscard]] int give_final_name(const pool::OutputSlot& slot, const store::FileNames& names);

struct FoundOutput {
  pool::OutputKey key;
  std::string working_path;
  bool is_closed = false;   // by all ranks of the node
};
// The output that becomes that file and is not finished, if there is one: not one that is open and whose file has been removed, or renamed;
// and one that is open rather than one that is closed. Local.
// kept: those that the storage has refused instead.
enum class Unfinished { on_its_way, kept };
[[nodiscard]] std::optional<FoundOutput> find_output(const pool::Pool& pool, const std::string& final_path,
                                                     Unfinished which = Unfinished::on_its_way);

// Waits as long as anything is written. Throws timeout when nothing is, and io when it cannot come to that any more. Local, blocks.
void wait_until(Core& core, const std::function<bool()>& holds, const std::string& what);

// It has been wanted of the drain to write, on several nodes of all of them. Local.
void tell_drain(Core& core);
// What ranks of the node have captured so far up to that collective count, and on several nodes what others have captured in earlier ticks,
// is in the file then, through the page cache, or never will be. With Core::one_at_a_time(). Throws as wait_until(). Local, blocks.
void write_up_to(Core& core, pool::OutputKey key, std::uint32_t collective_count, const std::string& path);
// What was flushed, of all nodes in earlier ticks, is on the stagers' storage then, or never will be. The second: only where nodes keep
// what is not, and write it again when a stager is lost. Throw as wait_until(). Local, block.
void wait_until_durable(Core& core, pool::OutputKey key, const std::string& path);
void keep_nothing(Core& core, pool::OutputKey key, const std::string& path);

// The ranks of this node among those that open an output.
struct Members {
  std::vector<int> node_ranks;
  int first = 0;        // the first of them, in the communicator
  bool leads = false;   // this rank is that
};
[[nodiscard]] Members members_of(const Core& core, MPI_Comm comm);
// Whether all ranks of `comm` belong to the session, or are on this node. Local.
[[nodiscard]] bool are_in_session(const Core& core, MPI_Comm comm);
[[nodiscard]] bool are_on_this_node(const Core& core, MPI_Comm comm);

struct MadeOutput {
  pool::OutputKey key;
  bool is_in_place = false;
  std::string working_path;
  std::optional<base::Bytes> uncut{};   // of the file at the stagers that it replaces
};
// As ByteOutput::open(). byte_opening.cpp makes an output on this node, byte_opening_nodes.cpp on several.
[[nodiscard]] MadeOutput open_output(Core& core, MPI_Comm comm, const std::string& path, ByteOutput::Existing existing,
                                     const StripingHints& of_program, ByteOutput::Where where);

// What one rank makes, as the others get it.
struct Proposed {
  std::uint64_t slot = 0, generation = 0, size = 0;
  bool is_in_place = false;
  bool is_at_stagers = false, replaces = false;   // there: a file of `size` bytes
  std::array<char, 4096> working_path{}, final_path{};
};
// Claims a slot of this node's pool, and makes the working file. Local, blocks.
void make_output(Core& core, const Members& members, const std::string& path, ByteOutput::Existing existing,
                 const StripingHints& of_program, Proposed& made);
// Likewise of one that the stagers make: it is for them to be asked. Throws not_found, permission, exists, timeout.
void make_output_at_stagers(Core& core, const Members& members, const std::string& path, Proposed& made);
// Claims a slot for one that another node has made. Local, blocks.
[[nodiscard]] pool::OutputKey join_output(Core& core, const Members& members, const std::string& path, const Proposed& made);
[[nodiscard]] MadeOutput open_on_all_nodes(Core& core, MPI_Comm comm, const std::string& path, ByteOutput::Existing existing,
                                           const StripingHints& of_program, ByteOutput::Where where);

}  // namespace glean::session
