// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that put through tiny journals and few chunks, and the part of a drain that has to do with the pool.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "pool/journal.hpp"
#include "scheduler.hpp"
#include "small_pool.hpp"

namespace glean::schedule {

enum class Retires { at_once, payload_first, newest_of_two_first, when_a_process_waits };
enum class Dying { none, ranks, drain };   // what takes the place of a drain that dies survives

struct TrafficPlan {
  int ranks = 1;
  int puts = 5;   // of each rank
  Retires retires = Retires::at_once;
  Dying dying = Dying::none;
  base::Bytes payload_bytes = 64;
};

class Traffic : public Scenario {
 public:
  Traffic(SmallPool& small, const TrafficPlan& plan);

  std::vector<Process> processes() override;
  void check_end() override;
  std::string name_of(const void* word) const override { return small_.name_of(word); }

 private:
  struct Put {
    bool published = false;
    bool found = false;
    bool given_back = false;      // its payload
    bool being_retired = false;
    bool retired = false;
  };
  struct Held {
    int rank;
    const pool::Record* record;
  };
  struct Drain {
    std::vector<pool::JournalReader> journals;
    std::vector<int> next;   // that must be found, by rank
    std::deque<Held> held;
  };

  void put_all(int rank);
  void drain();
  void take_over();
  [[nodiscard]] bool read(Drain& drain);
  void retire_one(Drain& drain);
  void check_record(const pool::Record& record, int rank) const;
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] Put& put(int rank, std::uint64_t step) { return puts_[static_cast<std::size_t>(rank)][step]; }

  SmallPool& small_;
  TrafficPlan plan_;
  std::vector<std::vector<Put>> puts_;
  std::vector<bool> ended_;
};

[[nodiscard]] inline MakeScenario traffic(SmallPool& small, const TrafficPlan& plan) {
  return [&small, plan] { return std::make_unique<Traffic>(small, plan); };
}

}  // namespace glean::schedule
