// SPDX-License-Identifier: BSD-3-Clause
//
// Complete steps for consumers: what analyses or shows them while their bytes are still in the pool.
//
// A consumer reads the pool and nothing else, in this process or in one of its own that maps the pool for reading. Until it releases a
// step, or dies, the chunks with the step's bytes are pinned: each has one more reference, so that the drain may write and forget the
// records meanwhile. Pins are bounded by the consumer's budget. A step that does not fit, or of which a part is not in memory (spilled,
// written by the rank itself, or written by a drain before this one), is skipped as a whole, if the drain does not wait for the consumer.
//
// A consumer sees what ranks of this node have put; on a node without ranks what has come from others, and each element on one node only.
// Of a raw output the one step is closing it, and its pieces are in the order in which they take effect. It sees outputs that are opened
// after it has been added. A drain that is killed leaves its pins until the session ends: what they are of is known to no other process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drain/output.hpp"
#include "mesh/run_list.hpp"
#include "store/meaning.hpp"

namespace glean::drain {

inline constexpr std::uint32_t no_variable = ~0u;

// What one record has put.
struct StepPiece {
  int rank = 0;                         // of the session, that has put it
  std::uint32_t variable = no_variable; // of the output's definitions; no_variable: bytes of a raw output, where nothing is known of them
  store::PutBox put;                    // which elements of the variable
  std::optional<mesh::Pattern> place{}; // of a raw output: where its bytes lie in the file. Later ones lie over earlier ones
  mesh::Type type = mesh::Type::uint8;  // of an element in memory
  bool is_big_endian = false;           // as the file has it, of a raw output; else as the program has it
  Bytes first_byte = 0;                 // of the put, in row-major order of its elements
  Bytes pool_offset = 0;                // where it is, for another process
  std::span<const std::byte> bytes{};   // the same, for this one
};

struct CompleteStep {
  std::uint64_t number = 0;   // for release()
  pool::OutputKey output;
  std::string path;           // as the program has named the output
  std::string file;           // that it becomes
  std::shared_ptr<const mesh::Definitions> definitions;   // null: of a raw output of which nothing is known
  std::uint64_t step = 0;
  std::vector<StepPiece> pieces;
  std::string left_out{};     // why nothing of it is here; empty: all is
};

class Consumers {
 public:
  using Id = std::uint32_t;
  struct Terms {
    Bytes budget = 0;      // of pinned chunks; those of all consumers together are at most half of the pool
    int process = 0;       // that consumes, whose death ends it; 0: this one
    std::function<bool(const DrainedOutput&)> wants{};   // of which outputs it gets the steps; none: of all
    bool tells_left_out = false;   // it gets steps that are skipped, without their pieces
    // Beyond its budget steps are kept all the same, until ranks have waited for room for so long and it has released none.
    double wait_seconds = 0;
    // Steps of raw outputs of which lists have more runs are skipped: a piece for each takes ten times the bytes of its run.
    std::uint64_t most_listed_runs = 1'000'000;
  };
  struct Figures {
    std::uint64_t steps = 0;                       // that it was given
    std::uint64_t skipped_for_budget = 0, skipped_not_in_memory = 0, skipped_in_too_many_pieces = 0;
    Bytes pinned_bytes = 0;                        // now
    bool is_gone = false;                          // its process has died
  };

  explicit Consumers(pool::Pool& pool) : pool_(pool) {}
  ~Consumers();
  Consumers(const Consumers&) = delete;
  Consumers& operator=(const Consumers&) = delete;

  // -- consumers; any thread
  // Throws invalid_argument where the budgets would be more than half of the pool, and not_found where there is no such process.
  [[nodiscard]] Id add(const Terms& terms);
  void remove(Id consumer);   // with all that it has pinned
  // The next step, in the order in which they were complete. Waits for so long; nothing when there was none, or the consumer is gone. No
  // thread may be in it when the engine ends.
  [[nodiscard]] std::optional<CompleteStep> next(Id consumer, double seconds);
  // Its bytes are not read any more.
  void release(Id consumer, std::uint64_t number);
  [[nodiscard]] Figures figures(Id consumer) const;
  // A step of the output is to be taken by next(), or not released.
  [[nodiscard]] bool holds(Id consumer, pool::OutputKey output) const;

  // -- the drain, with the engine's lock held
  void opened(const DrainedOutput& output);
  // A record of it that has just been taken.
  void saw(const DrainedOutput& output, const TakenRecord& taken);
  void complete(const DrainedOutput& output, std::uint64_t step);
  // Its steps that are not complete will not be.
  void ended(const DrainedOutput& output);
  // Those of processes that have died give back what they have pinned, and those that have been waited for what they have not begun to look
  // at. Ranks wait for room.
  void make_room();

 private:
  using StepKey = std::pair<pool::OutputKey, std::uint64_t>;
  enum class Fate { is_collected, lacks_budget, is_not_in_memory, is_in_too_many_pieces };
  struct Collected {
    Fate fate = Fate::is_collected;
    std::vector<std::pair<std::uint64_t, StepPiece>> pieces;   // with the stamp of a raw output's
    std::vector<std::uint32_t> chunks;
    std::uint64_t listed_runs = 0;                             // of which each becomes a piece
  };
  struct Consumer {
    Terms terms;
    int process_descriptor = -1;
    std::set<pool::OutputKey> outputs;
    std::map<StepKey, Collected> collecting;
    std::deque<CompleteStep> waiting;
    struct Held {
      pool::OutputKey output;
      std::vector<std::uint32_t> chunks;
    };
    std::map<std::uint64_t, Held> held;                         // by the number of a step
    std::map<std::uint32_t, std::uint32_t> pins;                // by chunk: how often
    Figures figures;
    // Ranks wait for room, while it has more than its budget: since when, 0: they do not; when they have last asked.
    std::uint64_t waited_since_ns = 0, asked_ns = 0;
  };

  [[nodiscard]] StepPiece piece_of(const DrainedOutput& output, const TakenRecord& taken) const;
  // Which elements of which variable the bytes of a raw output's piece are.
  static void add_bytes(std::vector<StepPiece>& pieces, StepPiece&& piece, const std::optional<store::Meaning>& meaning);
  static void mean(StepPiece& piece, const std::optional<store::Meaning>& meaning);
  [[nodiscard]] static bool is_dead(const Consumer& consumer);
  [[nodiscard]] bool pin(Consumer& consumer, std::uint32_t chunk);
  void unpin(Consumer& consumer, const std::vector<std::uint32_t>& chunks);
  void give_up(Consumer& consumer, Collected& collected, Fate fate);
  void let_go(Consumer& consumer);   // of everything
  void let_go_of_waiting(Consumer& consumer);

  pool::Pool& pool_;
  mutable std::mutex mutex_;
  std::condition_variable is_complete_;
  std::map<Id, Consumer> consumers_;
  Id next_id_ = 0;
  std::uint64_t next_number_ = 0;
};

}  // namespace glean::drain
