// SPDX-License-Identifier: BSD-3-Clause
//
// What lies in the node's shared memory. Everything that another process needs to finish the work is here; nothing
// is a pointer. The format is described in docs/formats/pool.md.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.hpp"
#include "pool/atomic.hpp"
#include "pool/shared_position.hpp"

namespace glean::pool {

using base::Bytes;

inline constexpr std::array<char, 8> pool_magic = {'G', 'L', 'E', 'A', 'N', 'P', 'L', '8'};
inline constexpr std::uint32_t pool_version = 24;
inline constexpr std::uint32_t output_slots = 64;   // outputs that are open or still draining

// `closed`: all outputs are finished, and a helper process that drains may go.
enum class SessionState : std::uint32_t { running, closed };

// A file that handles of the MPI library's write, past GLEAN (pool/other_handles.hpp). 0 handles: the place is free.
struct PassedFile {
  Atomic<std::uint64_t> device, inode;
  Atomic<std::uint32_t> handles;
};

// Where a rank is in the collective calls of a session; session/collective_calls.hpp says what the words mean.
struct RankCall {
  Atomic<std::uint64_t> place;      // number of its last call << 16 | flags | kind
  Atomic<std::uint64_t> since_ns;   // CLOCK_MONOTONIC: since when it is there
  std::array<char, 112> output;     // of the call, for messages; written before `place`
};

// A collective call of the session as all ranks of the node see it: the k-th is at k % size.
struct NodeCall {
  Atomic<std::uint64_t> word;    // number << 16 | what was decided << 8 | kind
  Atomic<std::uint64_t> slots;   // what the ranks bring along, joined: a set of outputs,
  Atomic<std::uint32_t> flags;   // and flags
  Atomic<std::uint32_t> ranks;   // that have brought what they have
  std::array<Atomic<std::uint64_t>, 4> least;   // of what the ranks bring along
  std::array<char, 456> message; // of the first rank that has given up
};

// The collective calls of a session as the ranks of a node see them. `broken`: no more can be made, 1 + base::Errc; set after the message
// and the number of the first call that cannot.
struct SessionCalls {
  std::array<NodeCall, 16> calls;
  Atomic<std::uint32_t> broken_claimed, broken;
  Atomic<std::uint64_t> broken_from;
  std::array<char, 1024> broken_message;
};

// How an output has ended, for nodes that have not heard of it.
enum class OutputEnd : std::uint8_t { untold, published, failed };

// Of a stager, for another process that takes its place when its own has ended.
struct StagerPlace {
  std::uint32_t port;                      // where the stager waits for other nodes; 0: no other process takes its place
  std::uint32_t restart_ms;                // for which the other nodes wait
  std::array<std::byte, 16> key_mark;      // follows from the key of the service
  std::array<char, 2048> doors;            // of neighbours with higher numbers: a line of number and addresses for each
  std::array<Atomic<std::uint64_t>, 64> left_clients;          // a bit for each of the first 4096 that have said that they leave
  // By slot of node 0: end (OutputEnd) << 40 | 1 + generation of the last output that no node needs any more.
  std::array<Atomic<std::uint64_t>, output_slots> ended;
};

// The start of the pool. `work`, `space` and `progress` are futex words.
struct PoolHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t ranks;             // of the node
  std::uint32_t journals;          // one per rank, and on several nodes one for what other nodes send
  Bytes pool_bytes;                // all of it
  Bytes chunk_bytes;
  std::uint32_t chunk_count;
  std::uint32_t drain_core_count;  // how to drain: plan::NodePlan, for another process
  std::array<std::uint16_t, 64> drain_cores;
  std::uint32_t drain_threads;
  std::uint32_t drain_depth;
  Bytes request_bytes;
  Bytes journal_bytes;             // of one rank
  Bytes progress_offset;           // RankProgress[2 * output_slots][ranks]: how far, and begun
  Bytes journals_offset;           // Journal and ring, per journal
  Bytes chunk_states_offset;       // ChunkState[chunk_count]
  Bytes chunks_offset;             // the data
  std::uint64_t created_realtime_ns;
  std::uint64_t job_end_realtime_ns;        // when the job's time is over; 0: not known
  Bytes spill_budget_bytes;                 // 0: no spilling
  std::array<char, 256> job;                // whose pool it is, for people
  // -- a session of several nodes, each with a pool
  std::array<char, 128> session;            // the same in all of its pools
  std::uint32_t nodes, node;                // how many, and which this is
  std::uint32_t stagers;                    // of them: the last ones, without ranks, which write for the others
  std::uint32_t reserved_chunks;            // that only what other nodes send may take
  std::array<char, 4096> spill_directory;   // absolute

  alignas(64) Atomic<std::uint64_t> free_chunks;     // top of the free stack: change count << 32 | index + 1
  alignas(64) Atomic<std::uint32_t> used_chunks;
  Atomic<std::uint32_t> high_water_chunks;
  alignas(64) Atomic<std::uint32_t> work;            // there is something to drain
  alignas(64) Atomic<std::uint32_t> space;           // chunks or journal space came back
  Atomic<std::uint32_t> waiting_for_space;           // ranks that sleep on `space`
  alignas(64) Atomic<std::uint32_t> progress;        // an output reached another level
  Atomic<std::uint64_t> written_bytes;               // into files, or taken by nodes that do, since the pool was made
  Atomic<std::uint64_t> spilled_bytes;               // in spill files now
  Atomic<std::uint64_t> spill_high_water_bytes;
  Atomic<std::uint32_t> drains;                      // so far
  Atomic<SessionState> session_state;
  Atomic<std::uint64_t> trace_bytes;                 // a helper's trace, at chunks_offset, when it has gone
  Atomic<std::uint32_t> deadline_boost;              // 1: the job's time is nearly over
  Atomic<std::uint32_t> outputs_opened;              // so far
  Atomic<std::uint32_t> opening;                     // the process that just looks for a raw output, or makes one
  Atomic<std::uint64_t> job_written_bytes;           // by all nodes, as last heard of
  Atomic<std::uint32_t> lost_nodes;                  // 1: this node and others cannot reach each other any more
  Atomic<std::uint32_t> keeps_until_durable;         // 1: what stagers have been sent is kept here until it is on the storage
  Atomic<std::uint32_t> is_made_anew;                // 1: of a stager, in place of a pool that is gone
  Atomic<std::uint64_t> lamport_tick;                // on several nodes: in which raw outputs are written (WriteStamp)
  // A Bloom filter of device and inode of the files that the session has written.
  std::array<Atomic<std::uint64_t>, 1024> written_files;
  std::array<PassedFile, 64> passed_files;
  StagerPlace place;
  SessionCalls session_calls;
};

struct alignas(64) ChunkState {   // each small write of a rank changes one
  Atomic<std::uint32_t> references;   // pieces that are not written yet, and one while its rank fills it
  Atomic<std::uint32_t> next_free;    // index + 1 of the next chunk on the free stack; 0: none
};

// How far a rank is with an output: the number of steps that it has ended, and flags. The rank writes it after the
// records that it speaks of, so a drain that reads it and then the journal has all of them.
using RankProgress = Atomic<std::uint32_t>;
inline constexpr std::uint32_t rank_closed = 1u << 31;      // no more steps
inline constexpr std::uint32_t rank_abandoned = 1u << 30;   // closed, and the output shall not be published
inline constexpr std::uint32_t rank_absent = 1u << 29;      // closed, and it has never had it open
inline constexpr std::uint32_t rank_steps = rank_absent - 1;

// OutputSlot::name_lock of an output that is just published.
inline constexpr std::uint32_t name_changes = ~std::uint32_t{0};

enum class OutputState : std::uint32_t { free, open, published, failed, abandoned, opening };

// How far an output's steps are, and what a drain that takes over needs of them. The counters say how many have reached a level; they only
// grow. Closing a raw output is its one step.
struct SlotSteps {
  Atomic<std::uint64_t> staged;            // ended by all ranks
  Atomic<std::uint64_t> written;
  Atomic<std::uint64_t> synchronized;
  Atomic<std::uint64_t> synchronize_up_to; // asked for by wait(durable)
  Atomic<std::uint64_t> range_errors;      // values replaced by the fill value
  Atomic<std::uint64_t> records;           // 1 + the last record with data, of settled steps
  Atomic<std::uint64_t> highest_end;       // of the file, by data of settled steps
  // What records said that have left a journal that was too small: offset of the newest DescriptionPart; 0: none.
  Atomic<std::uint64_t> takeover_log;
  Atomic<std::uint64_t> takeover_log_before;   // what that was before records in state `logging` were marked
  Atomic<std::uint32_t> records_given_up;      // 1: records that recovery would need are gone, the pool was too small
  // Outputs that drop: whole steps, decided by the first rank that begins one: step << 18 | ranks that know << 2 |
  // DropDecision, at step % size. Taken for a later step when all ranks know.
  std::array<Atomic<std::uint64_t>, 64> decisions;
  Atomic<std::uint64_t> dropped;
};

// The writes of a raw output, numbered over all ranks in the order in which they were made.
struct SlotWrites {
  alignas(64) Atomic<std::uint64_t> begun;   // stamp of the next (WriteStamp). These two change with each write
  Atomic<std::uint64_t> size;              // of the file, with all that was captured
  alignas(64) Atomic<std::uint64_t> written;   // all of lower numbers are in the file
  Atomic<std::uint64_t> written_before;    // on one node: all of lower stamps are
  Atomic<std::uint64_t> write_up_to;       // asked for
  Atomic<std::uint32_t> waiting;           // ranks that sleep on `progress` until more is written
  Atomic<std::uint64_t> read_up_to;        // asked for by a rank that then reads it: these go through the page cache
  Atomic<std::uint64_t> shared_position;   // the ranks': MPI-IO's shared file pointer
  // On several nodes by ticks (drain/lamport_clock.hpp). Of this node: its next write when its tick was raised last; the tick before which
  // all writes are in the file; the one up to which a rank of this node wants them there. And of all nodes: the least written_tick.
  Atomic<std::uint64_t> raised_at_write, written_tick, wanted_tick, job_written_tick;
  // Where stagers write it, a node's written_tick is the tick before which all its writes are at stagers, and the least of those is:
  Atomic<std::uint64_t> job_sent_tick;
  // The tick before which a rank wants all writes on the storage; before which all are that a stager writes; and all stagers.
  Atomic<std::uint64_t> wanted_durable_tick, durable_tick, job_durable_tick;
  // What the variables are whose elements the bytes are (store/meaning.hpp), as newest DescriptionPart, 0: not known; and how often a rank
  // has begun to say so.
  Atomic<std::uint64_t> meaning;
  Atomic<std::uint32_t> meanings_claimed;
};

// Whether stagers have the output open, as its node 0 knows.
enum class AtStagers : std::uint32_t {
  no,
  asked, asked_for_new_file,   // by a rank of that node, whose exchange asks them; new: one that is there is an error
  open                         // on all of them
};

// Where several nodes write an output.
struct SlotNodes {
  // What the drain says of this node:
  Atomic<std::uint64_t> steps_sent;        // ended by all ranks, and what other nodes write of them has arrived there
  Atomic<std::uint32_t> part_durable;      // 1: all that this node writes of a closed output is
  // and what the nodes have said to each other, of all of them:
  Atomic<std::uint64_t> job_output;        // the root's: generation << 32 | slot
  Atomic<std::uint64_t> job_steps;         // the least steps_sent
  Atomic<std::uint64_t> job_steps_ended;   // by all ranks
  Atomic<std::uint64_t> job_steps_begun;   // by any rank
  Atomic<std::uint64_t> job_steps_synchronized;
  Atomic<std::uint64_t> job_records;       // the greatest `records` and `highest_end`; of a raw output that stagers make: its size
  Atomic<std::uint64_t> job_highest_end;
  Atomic<std::uint32_t> job_closed;        // 1: by all ranks of all nodes; 2: and all is at the stagers
  Atomic<std::uint32_t> job_parts_durable; // 1: of all nodes
  Atomic<std::uint32_t> job_published;     // 1: by the node that does, or the program has removed the file
  Atomic<std::uint32_t> job_postponed;     // the storage of a node refuses it: pool/postponed.hpp
  Atomic<AtStagers> at_stagers;
  Atomic<std::uint32_t> is_opened_anew;    // 1: this stager has none of what its place had before: its pool was lost
  // Of a node that keeps until durable: it has all of that step and later ones that is not; ~0: of none.
  Atomic<std::uint64_t> kept_from_step;
  Atomic<std::uint32_t> job_last_rank;     // for messages: one that has ended fewest steps, and one that has not closed;
  Atomic<std::uint32_t> job_open_rank;     // ~0: not known
};

// One output that is open or draining: its life, and what it is made of. A slot is claimed by rank 0 of the node and used again with the
// next generation.
struct alignas(64) OutputSlot {
  Atomic<OutputState> state;
  Atomic<std::uint32_t> generation;
  Atomic<std::uint32_t> is_bytes;          // 1: a raw output, and no rank comes to see what became of it
  Atomic<std::uint32_t> is_made_by_stagers;   // 1: a raw output whose file only stagers see: is_made_by_ranks()
  Atomic<std::uint32_t> error_claimed;     // the first to fail writes code and message
  Atomic<std::uint32_t> error;             // 0, or 1 + base::Errc; set after the message
  Atomic<std::uint32_t> discarded;         // 1: the file of a failed output is gone, and the space it took is free
  Atomic<std::uint64_t> description;       // offset in the pool of the newest DescriptionPart; 0: none
  // XXH3 of the final path and of its directory, for processes that look for the file while it is not there yet; 0: not known.
  Atomic<std::uint64_t> path_mark, directory_mark;
  Atomic<std::uint32_t> name_lock;         // 1 + a rank that opens the file under its working name, or name_changes
  Atomic<std::uint64_t> publishing_inode;  // of the working file, before it is renamed
  Atomic<std::uint64_t> working_inode;     // of the file that the drain has opened; found under the final name it is published
  // What was set before of that file: its device, and its process << 32 | descriptor there, as processes of this PID namespace see it; 0:
  // none.
  Atomic<std::uint64_t> working_device, working_descriptor;
  // What the program was promised. The first two are words of 0 or 1.
  Atomic<std::uint32_t> told;              // ranks have been told of the failure: what was captured need not be kept
  Atomic<std::uint32_t> is_renamed;        // since it was closed: the log of names says how
  Atomic<std::uint64_t> synchronized_writes;   // the program has been told that all of lower numbers are safe
  Atomic<std::uint32_t> other_handles;     // flags (pool/other_handles.hpp): what the MPI library has to do with the file
  // An output in place is written when those that were closed before it was opened are durable: their generations by slot, 0: none.
  std::array<Atomic<std::uint32_t>, output_slots> follows;
  std::array<char, 768> message;
  std::array<char, 256> hint;
  SlotSteps steps;
  SlotWrites writes;
  SlotNodes nodes;
};

// A raw output whose file a rank makes, and a node with ranks publishes.
[[nodiscard]] inline bool is_made_by_ranks(const OutputSlot& slot) {
  return slot.is_bytes.load(std::memory_order_acquire) != 0 && slot.is_made_by_stagers.load(std::memory_order_acquire) == 0;
}

// Stands before each part of an output's description, in a chunk that is kept until the output is finished, and of its
// takeover log. Parts are linked from the newest to the oldest, so that nothing changes once a part is published. The
// output is described when the newest part ends at `total`.
struct DescriptionPart {
  std::uint32_t slot;
  std::uint32_t generation;
  Bytes previous_offset;   // of the part before, from the start of the pool; 0: this is the first
  Bytes begin;             // position in the description of the bytes that follow
  Bytes bytes;             // that follow
  Bytes total;             // of the description; 0: it is not known yet, more will follow
};

// What a rank asks node 0 for, where ranks of several nodes share a pointer: to move it.
struct SharedQuestion {
  Atomic<std::uint64_t> asked, answered;   // how often
  std::uint64_t job_output;
  SharedMove move;
  Atomic<std::uint64_t> position;          // the answer
};

// A rank's journal: a ring of records. `head` belongs to the rank, `tail` to the drain. Both count bytes since the
// beginning and never wrap.
struct Journal {
  alignas(64) Atomic<std::uint64_t> head;
  Atomic<std::uint32_t> is_full;   // 1: the rank waits for room in the ring
  std::uint32_t job_rank;          // of the session, for messages
  Atomic<std::uint64_t> held_write;   // of bytes, that the rank numbers and has not recorded yet (HeldWrite); 0: none
  Atomic<std::uint32_t> has_joined;   // 1: its rank has been there
  Atomic<std::uint32_t> closing;      // calls in which its rank waits until others have closed a raw output
  alignas(64) Atomic<std::uint64_t> tail;
  SharedQuestion question;
  alignas(64) RankCall call;
  // For each output on one node (pool/collective_count.hpp). It changes at each collective call: ranks share no line.
  alignas(64) std::array<Atomic<std::uint32_t>, output_slots> collective_counts;
};

// Which write of a raw output: its number, among those of its node, and above it the `order`. On several nodes that is the tick of the
// node's Lamport clock in which it was made (pool/lamport_clock.hpp): later writes of a node are in the same tick or in later ones. On one
// node it is the collective count of its rank (pool/collective_count.hpp), and writes take effect in the order of their stamps. The stamp
// stands where other records have their step.
struct WriteStamp {
  static constexpr int number_bits = 34;
  static constexpr std::uint64_t numbers = 1ull << number_bits, last_order = (1ull << (64 - number_bits)) - 1;
  std::uint64_t order = 0, number = 0;

  [[nodiscard]] std::uint64_t word() const { return order << number_bits | number; }
  [[nodiscard]] static WriteStamp of(std::uint64_t word) { return {word >> number_bits, word & (numbers - 1)}; }
};

// A write of bytes between the moment before it takes its number and its record. As a word: slot + 1 << 56 | number + 1, or 0.
struct HeldWrite {
  static constexpr std::uint64_t unknown = (1ull << 56) - 2;   // the number is just being taken
  std::uint32_t slot = 0;
  std::uint64_t number = unknown;

  [[nodiscard]] std::uint64_t word() const { return (std::uint64_t{slot} + 1) << 56 | (number + 1); }
  [[nodiscard]] static HeldWrite of(std::uint64_t word) {   // that is not 0
    return {static_cast<std::uint32_t>(word >> 56) - 1, (word & ((1ull << 56) - 1)) - 1};
  }
};

enum class RecordKind : std::uint16_t {
  skip = 1,   // nothing: the rest of the ring up to its end
  put,        // payload: elements of a box
};

// The checksum does not cover it, as it changes: numbers that no damage makes of one another.
enum class RecordState : std::uint32_t {
  live = 0x6c697665,      // its payload is not in the file yet
  written = 0x77726974,   // its payload is in the file and given back; the record is kept for what may still have to be undone
  logging = 0x6d6f7665,   // the same, and what it says is in OutputSlot::takeover_log if that is not `takeover_log_before` any more
  retired = 0x72657469,   // the drain needs it no more
};

// Where the payload of a record is.
enum class PayloadPlace : std::uint8_t {
  pool,
  spill,   // in the spill file of the rank, or of the stager
  file,    // the rank has written it itself, or does so before it ends the step; of bytes: before it has recorded it
};

// Where a record comes from. What other nodes send is in the journal after those of the ranks: of each put those elements of
// which this node writes bytes.
enum class Origin : std::uint8_t {
  rank,
  node,        // of a put that is known already
  node_first,  // the first of its put to arrive here
};

// Records start at multiples of 64 bytes. All but `state` is constant once `head` has passed it.
struct Record {
  std::uint32_t size_bytes;        // with everything that follows, a multiple of 64
  RecordKind kind;
  std::uint16_t dimensions;        // of the box
  std::uint32_t checksum;          // low half of XXH3 over the record with checksum and retired zero
  RecordState state;               // only the drain changes it
  std::uint32_t slot;
  std::uint32_t generation;
  std::uint64_t step;
  std::uint64_t captured_ns;       // CLOCK_MONOTONIC
  std::uint32_t variable;
  std::uint8_t memory_type;        // mesh::Type
  PayloadPlace place;
  Origin origin;
  std::uint8_t reserved;
  Bytes payload_offset;            // pool: from its start; spill: of the block in the rank's spill file; file: 0
  Bytes payload_bytes;
  // put: the payload holds elements [first_element, first_element + elements) of the box in row-major order.
  std::uint64_t first_element;
  std::uint64_t elements;
  // box: start[dimensions], count[dimensions] follow, and where `origin` is not `rank` the rank of the session that has put it

  [[nodiscard]] const std::uint64_t* box() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  [[nodiscard]] std::uint64_t* box() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] std::size_t words() const { return 2 * std::size_t{dimensions} + (origin == Origin::rank ? 0 : 1); }   // that follow
  [[nodiscard]] int job_rank() const { return static_cast<int>(box()[2 * dimensions]); }   // where `origin` is not `rank`
};

inline constexpr Bytes record_alignment = 64;
static_assert(sizeof(Record) == 80 && alignof(Record) == 8);
static_assert(Atomic<std::uint64_t>::is_always_lock_free);

}  // namespace glean::pool
