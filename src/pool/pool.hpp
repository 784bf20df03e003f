// SPDX-License-Identifier: BSD-3-Clause
//
// The node pool: shared memory with a hard byte budget, where captured data stays until it is written.
//
// Chunks come from a lock-free stack: taking or returning one never waits for another process, and a process that is
// killed at any point leaves the stack whole (at worst its last chunk is lost until recovery).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/node_plan.hpp"
#include "pool/shared.hpp"

namespace glean::pool {

// The output that something belongs to.
struct OutputKey {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  friend bool operator==(const OutputKey&, const OutputKey&) = default;
  friend auto operator<=>(const OutputKey&, const OutputKey&) = default;
};

// The part of a node in a session of several.
struct NodeShare {
  std::string session;      // the same on all of its nodes
  int nodes = 1, node = 0;
  int stagers = 0;          // of the nodes: the last ones
};

class Pool {
 public:
  // Makes the shared memory object `name` ("/glean.…") of plan.pool_bytes and lays it out. Only this process's part of
  // the memory is touched. Throws no_space when the node does not have the memory, exists when the name is taken.
  [[nodiscard]] static Pool create(const std::string& name, const plan::NodePlan& plan, int ranks, const NodeShare& share = {});
  // Maps a pool that another process of this user has made. Throws not_found, permission, or io when it is not a pool of this
  // version or its header is damaged.
  // To look only: nothing in it can be changed, claimed or asked of the kernel, and no descriptor stays open.
  enum class Access { full, look };
  [[nodiscard]] static Pool attach(const std::string& name, Access access = Access::full);

  // A process that drains, captures in or recovers the pool `name`, whatever is in it, or this one if it maps it; 0: none.
  // Throws not_found, permission.
  [[nodiscard]] static int process_using(const std::string& name);

  Pool(Pool&& other) noexcept;
  Pool& operator=(Pool&&) = delete;
  ~Pool();   // unmaps, and ends what this process has claimed; the object stays until remove()

  // Touches part `part` of `parts` of the memory, so that it exists and is zero. Throws no_space. Blocks.
  void fault_in(int part, int parts);
  // Makes this process's page tables for all of it. Call when all parts are touched. Blocks.
  void map_all();
  // Takes the name away, and spill files; the memory goes with the last process that maps it.
  void remove() noexcept;

  // -- which processes use it. Each claim is a record lock on a byte of the object: the kernel ends it with the process, however
  // that ends, and a child does not inherit it. (A process loses its claims when it closes the object anywhere: it maps a
  // pool once.) Local, one system call.
  // This process drains from now on, or captures as `rank`. False: another one does.
  [[nodiscard]] bool claim_drain();
  // After claim_drain(): it does not after all.
  void leave_drain();
  [[nodiscard]] bool claim_rank(int rank);
  // No other process drains or captures, and none will. False: one does.
  [[nodiscard]] bool claim_all();
  // The process that drains or captures; 0: none.
  [[nodiscard]] int drainer() const;
  [[nodiscard]] int process_of_rank(int rank) const;
  // Another process that has claimed any part of it; 0: none.
  [[nodiscard]] int other_process() const { return claimed_by(0, 0); }
  // Another process has removed it.
  [[nodiscard]] bool is_removed() const;

  // How the node is drained.
  [[nodiscard]] plan::NodePlan plan() const;
  // A free slot becomes an open output's, with everything at zero. Nothing if another process was faster. A slot that is only claimed is
  // not looked at before its state is `open`.
  [[nodiscard]] std::optional<OutputKey> open_slot(std::uint32_t index);
  [[nodiscard]] std::optional<OutputKey> claim_slot(std::uint32_t index);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] PoolHeader& header() const { return *reinterpret_cast<PoolHeader*>(base_); }
  [[nodiscard]] OutputSlot& slot(std::uint32_t index) const;
  [[nodiscard]] RankProgress& rank_progress(std::uint32_t slot, int rank) const;
  // In which collective call of the session a rank is.
  [[nodiscard]] RankCall& rank_call(int rank) const { return journal(rank).call; }
  // How many steps of an output that may drop it has begun, for messages.
  [[nodiscard]] RankProgress& rank_begun(std::uint32_t slot, int rank) const;
  // For raw outputs, on one node (pool/collective_count.hpp).
  [[nodiscard]] Atomic<std::uint32_t>& collective_count(std::uint32_t slot, int rank) const;
  [[nodiscard]] Journal& journal(int rank) const;
  [[nodiscard]] std::byte* ring(int rank) const;
  // Other nodes are in this session too.
  [[nodiscard]] bool is_shared() const { return header().nodes > 1; }
  // Stagers write for this node: the files are not to be seen here.
  [[nodiscard]] bool is_staged() const { return header().stagers != 0 && header().node < header().nodes - header().stagers; }
  // This node is a stager.
  [[nodiscard]] bool is_stager() const { return header().stagers != 0 && !is_staged(); }
  // The number in the session of a rank of the node.
  [[nodiscard]] int job_rank(int node_rank) const { return static_cast<int>(journal(node_rank).job_rank); }
  // The number of the rank that has put what a record in that journal says.
  [[nodiscard]] int job_rank(const Record& record, int journal) const {
    return record.origin == Origin::rank ? job_rank(journal) : record.job_rank();
  }
  [[nodiscard]] bool is_of_this_node(int job_rank) const;
  [[nodiscard]] Bytes ring_bytes() const;
  [[nodiscard]] std::byte* at(Bytes offset) const { return base_ + offset; }
  [[nodiscard]] Bytes offset_of_chunk(std::uint32_t chunk) const {
    return header().chunks_offset + chunk * header().chunk_bytes;
  }
  // The bytes lie inside of one chunk.
  [[nodiscard]] bool is_payload(Bytes offset, Bytes bytes) const;
  [[nodiscard]] std::uint32_t chunk_at(Bytes offset) const {
    return static_cast<std::uint32_t>((offset - header().chunks_offset) / header().chunk_bytes);
  }

  // A free chunk with one reference, or nothing. Never waits. What ranks capture leaves the last few to what other nodes
  // send: nodes that wait for each other's room would wait forever.
  enum class For { capture, other_nodes };
  [[nodiscard]] std::optional<std::uint32_t> take_chunk(For purpose = For::capture);
  void add_reference(std::uint32_t chunk);
  // The chunk is free again when the last reference goes.
  void drop_reference(std::uint32_t chunk);
  // references[c]: of chunk c. Only when no other process uses the pool.
  void count_chunks_anew(const std::vector<std::uint32_t>& references);
  // Wakes ranks that wait for chunks or journal space; for the drain, after it has returned some. A system call if any waits.
  void announce_space();

  [[nodiscard]] Bytes used_bytes() const;        // chunks only
  [[nodiscard]] Bytes high_water_bytes() const;  // chunks, and the fixed part

 private:
  // Takes the descriptor over.
  Pool(std::string name, int descriptor, Bytes bytes);
  void map(Access access = Access::full);
  void lay_out(const plan::NodePlan& plan, int ranks, const NodeShare& share);
  [[nodiscard]] bool claim(Bytes first, Bytes count);
  [[nodiscard]] int claimed_by(Bytes first, Bytes count) const;
  [[nodiscard]] ChunkState& chunk_state(std::uint32_t chunk) const;

  std::string name_;
  int descriptor_ = -1;
  bool is_drainer_ = false;
  int own_rank_ = -1;
  std::byte* base_ = nullptr;
  Bytes bytes_ = 0;
};

// What has failed, whatever the slot holds.
[[nodiscard]] std::string message_of(const OutputSlot& slot);
// Records the first failure of an output; later ones are ignored. Any process may call it.
void fail(OutputSlot& slot, std::uint32_t errc, const std::string& message, const std::string& hint);

}  // namespace glean::pool
