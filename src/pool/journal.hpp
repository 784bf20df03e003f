// SPDX-License-Identifier: BSD-3-Clause
//
// What was captured, and in which order: one ring of records per rank, written by the rank, read by the drain.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "mesh/box.hpp"
#include "mesh/type.hpp"
#include "pool/pool.hpp"

namespace glean::pool {

// The box of a put, as its record says it.
[[nodiscard]] inline mesh::Box box_of(const Record& record) {
  const std::uint64_t* const start = record.box();
  const std::uint64_t* const count = start + record.dimensions;
  return {{start, count}, {count, count + record.dimensions}};
}

// The hint of every error that says that other nodes are lost: ranks of nodes that have not noticed it themselves know it by that.
inline constexpr char lost_nodes_hint[] = "what was captured stays in the pools: when the job has ended, "
                                          "`mpirun --map-by ppr:1:node glean recover` completes it";

// Tells which ranks are missing when a wait for pool space passes its deadline.
using WaitDiagnosis = std::function<std::string()>;

// The capturing side of one rank, or of what other nodes send: pool space and records. Not thread-safe. Nothing
// here waits for another process unless the pool or the journal is full; then it asks the drain to make room and sleeps until
// there is some.
class Recorder {
 public:
  // `keep_draining` is called now and then while it waits: it sees to it, if this rank can, that there is a drain. The journal of what
  // other nodes send is that of node rank header().ranks.
  Recorder(Pool& pool, int node_rank, double deadline_seconds, WaitDiagnosis diagnosis,
           std::function<void()> keep_draining = [] {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Room for payload in one chunk: at most `wanted` bytes, at least `minimum` (which is not more than a chunk).
  // Valid until the next call. Throws timeout with the diagnosis when the pool stays full, and io when neither a process
  // that drains nor rank 0, which would see to that, is there.
  struct Room {
    std::byte* data;
    Bytes offset;
    Bytes bytes;
  };
  [[nodiscard]] Room reserve(Bytes wanted, Bytes minimum, std::optional<Bytes> file_offset = {});
  // As reserve(), but nothing when that would mean to wait. Where the bytes go in a file: `file_offset`, so that the drain may write whole
  // blocks from there, the address is equal to it modulo a page.
  [[nodiscard]] std::optional<Room> try_reserve(Bytes wanted, Bytes minimum, std::optional<Bytes> file_offset = {});

  // Publishes what lies in the first `used_bytes` of the reserved room: from now on another process could write it.
  struct Put {
    OutputKey output;
    std::uint64_t step;
    std::uint32_t variable;
    mesh::Type memory_type;
    const mesh::Box* box;
    std::uint64_t first_element;
    std::uint64_t elements;
    Origin origin = Origin::rank;
    int job_rank = 0;   // where that is another node: the rank that has put it
  };
  void commit_put(const Room& room, Bytes used_bytes, const Put& put);
  // The next number of a write of bytes, with that collective count of its rank, as soon as there is room for a record of so many
  // dimensions: a rank that holds one waits no more. From a moment before until the record is committed it is seen that this rank holds
  // it: those that come later wait for it, and need not if the rank is killed. Commit it, or what stands for it, before another is taken.
  [[nodiscard]] WriteStamp take_number(const OutputKey& output, std::size_t dimensions, std::uint32_t collective_count = 0);
  // The next number of a write of another node, which was made in that tick. Its record is to be committed next.
  [[nodiscard]] WriteStamp number_arrival(const OutputKey& output, std::uint64_t tick);
  // A put in two parts, for a payload that takes its time to come and is put by another node: other room can be taken in
  // between. Nothing when there is no room for the payload or for a record of so many dimensions: a caller that waits for that
  // has to be among those that wait for space. Then commit or drop, in any order; neither waits. Throws unsupported.
  struct Held {
    Room room;
    Bytes promised_bytes;   // of the journal
  };
  [[nodiscard]] std::optional<Held> try_hold(Bytes payload_bytes, std::size_t dimensions);
  void commit_held(const Held& held, const Put& put);
  // What was held lies at `offset` of the spill file, and its room is free again.
  void commit_spilled(const Held& held, Bytes offset, const Put& put);
  void drop_held(const Held& held);
  // Commits a put with a payload that is not in the pool. The record stays as it is, but for its state, until this rank appends another.
  const Record& commit_elsewhere(PayloadPlace place, Bytes offset, Bytes payload_bytes, const Put& put);
  // How often this rank has found no room, and how long it has waited for some: for payload, and for records.
  struct Waits {
    std::uint64_t times = 0, ns = 0;
    Waits& operator+=(const Waits& other) {
      times += other.times;
      ns += other.ns;
      return *this;
    }
  };
  struct Waited {
    Waits pool, journal;
  };
  [[nodiscard]] const Waited& waited() const { return waited_; }
  // How often this rank has taken a chunk. Any thread, and so is the next.
  [[nodiscard]] std::uint64_t chunks_taken() const { return chunks_taken_.load(std::memory_order_relaxed); }
  // The share of the journal that is in use.
  [[nodiscard]] double journal_share() const;
  // Appends to the description of an output: opaque bytes that the drain decodes when the last have come, and that stay in
  // the pool until the output is finished. If it throws, call forget_description().
  enum class More { follow, none };
  void describe(const OutputKey& output, std::span<const std::byte> bytes, More more);
  // Wakes the drain, and hands over the rest of this rank's chunk if another rank waits for one. One system call.
  void ring_the_drain();

 private:
  void leave_chunk();
  void take_room(Bytes offset, Bytes bytes);
  [[nodiscard]] static Record record_of(const Put& put, PayloadPlace place, Bytes offset, Bytes payload_bytes);
  void require_fits_journal(const Record& record) const;
  void wait_for_journal(const Record& record);
  const Record& append(Record record, const Put& put);

  template <class Attempt> void wait_for_space(Attempt attempt, const char* what, Waits& waits);

  Pool& pool_;
  int node_rank_;
  double deadline_seconds_;
  WaitDiagnosis diagnosis_;
  std::function<void()> keep_draining_;
  Waited waited_;
  std::uint32_t chunk_ = 0;
  bool has_chunk_ = false;
  std::atomic<std::uint64_t> chunks_taken_ = 0;
  Bytes chunk_used_ = 0;
  Bytes promised_bytes_ = 0;   // of the journal, for what is held
};

// The draining side of one rank's journal. Owned by one thread at a time. One that only looks changes nothing.
class JournalReader {
 public:
  enum class Purpose { drain, look };
  JournalReader(Pool& pool, int node_rank, Purpose purpose = Purpose::drain);

  // The next record, or nullptr. It stays valid until it is retired. Throws io when a record is damaged: the journal
  // cannot be read past it.
  // Records that an earlier reader has retired are passed over.
  [[nodiscard]] const Record* peek();
  void advance();   // past the record that peek() gave

  // The payload is in the file: its space is returned at once, the record stays. Ranks that wait for space must be told.
  void give_payload_back(const Record& record);
  // Marks a record that holds no payload: `logging`, or `written` again.
  void mark(const Record& record, RecordState state);
  // The record is needed no more, nor is its payload: the record's space is returned when all records before it are
  // retired too. It must not be looked at any more. Ranks that wait for space must be told.
  void retire(const Record& record);
  [[nodiscard]] int rank() const { return node_rank_; }
  // The rank waits for room in it.
  [[nodiscard]] bool is_full() const;

 private:
  [[nodiscard]] bool is_sound(const Record& record, Bytes left) const;
  void free_retired();

  Pool& pool_;
  int node_rank_;
  Journal& journal_;
  std::byte* ring_;
  Bytes ring_bytes_;
  Purpose purpose_;
  std::uint64_t read_ = 0;
};

// XXH3 over a record as it lies in the journal, checksum and state left out.
[[nodiscard]] std::uint32_t checksum_of(const Record& record);

}  // namespace glean::pool
