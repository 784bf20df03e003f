// SPDX-License-Identifier: BSD-3-Clause
//
// The stack of free chunks: whichever process interrupts or dies, no chunk belongs to two, and none but the dying process's is lost.
#include <gtest/gtest.h>

#include <deque>

#include "explore.hpp"
#include "small_pool.hpp"

namespace glean::schedule {
namespace {

constexpr int no_process = -1;

// Each process does what its script says: t takes a chunk if there is one, r returns the one it has had longest, d drops
// its reference to a chunk that all processes share.
class Takers : public Scenario {
 public:
  Takers(SmallPool& small, std::vector<std::string> scripts, Fate fate)
      : small_(small), scripts_(std::move(scripts)), fate_(fate), owners_(small.chunk_count(), no_process) {
    small_.reset();
    if (scripts_.front().find('d') == std::string::npos) return;
    shared_ = small_.pool().take_chunk();
    for (std::size_t more = 1; more < scripts_.size(); ++more) small_.pool().add_reference(*shared_);
  }

  std::vector<Process> processes() override {
    std::vector<Process> result;
    for (int process = 0; process < static_cast<int>(scripts_.size()); ++process) {
      result.push_back({"process " + std::to_string(process), [this, process] { follow_script(process); }, fate_});
    }
    return result;
  }
  void check_end() override {
    const auto free = small_.free_chunks();
    std::size_t lost = small_.chunk_count() - small_.first_chunk() - free.size();
    for (const std::uint32_t chunk : free) require(owners_[chunk] == no_process, "a chunk is free and belongs to a process");
    for (const int owner : owners_) lost -= owner != no_process ? 1 : 0;
    bool died = false;
    for (int process = 0; process < static_cast<int>(scripts_.size()); ++process) died |= is_dead(process);
    require(lost <= (died ? 1 : 0), std::to_string(lost) + " chunks are lost");
    if (!died) require(small_.used_chunks() == small_.chunk_count() - small_.first_chunk() - free.size(), "miscounted");
  }
  std::string name_of(const void* word) const override { return small_.name_of(word); }

 private:
  void follow_script(int process) {
    std::deque<std::uint32_t> held;
    for (const char action : scripts_[static_cast<std::size_t>(process)]) {
      if (action == 't') {
        const auto chunk = small_.pool().take_chunk();
        if (!chunk) continue;
        require(*chunk >= small_.first_chunk() && *chunk < small_.chunk_count(), "a chunk that does not exist was taken");
        require(owners_[*chunk] == no_process && chunk != shared_, "chunk " + std::to_string(*chunk) + " belongs to two");
        owners_[*chunk] = process;
        held.push_back(*chunk);
      } else if (action == 'd') {
        const std::uint32_t chunk = *shared_;
        if (++dropped_ == static_cast<int>(scripts_.size())) shared_.reset();
        small_.pool().drop_reference(chunk);
      } else if (!held.empty()) {
        owners_[held.front()] = no_process;
        small_.pool().drop_reference(held.front());
        held.pop_front();
      }
    }
  }

  SmallPool& small_;
  std::vector<std::string> scripts_;
  Fate fate_;
  std::vector<int> owners_;
  std::optional<std::uint32_t> shared_;
  int dropped_ = 0;
};

MakeScenario takers(SmallPool& small, std::vector<std::string> scripts, Fate fate = Fate::survives) {
  return [&small, scripts = std::move(scripts), fate] { return std::make_unique<Takers>(small, scripts, fate); };
}

TEST(ChunkStack, GivesNoChunkToTwoWhoTakeAndReturn) {
  SmallPool small(1, 3);
  explore_all(takers(small, {"trtr", "ttrr"}), {.interruptions = 3});
}

TEST(ChunkStack, GivesNoChunkToTwoOfThree) {
  SmallPool small(1, 3);
  explore_all(takers(small, {"ttr", "trt", "tr"}), {.interruptions = 2});
}

TEST(ChunkStack, FreesASharedChunkOnceWhicheverDropsItLast) {
  SmallPool small(1, 2);
  explore_all(takers(small, {"dt", "dt", "dtr"}), {.interruptions = 2});
}

TEST(ChunkStack, LosesOneChunkAtMostWithAProcessThatDies) {
  SmallPool small(1, 3);
  explore_all(takers(small, {"ttrr", "trr"}, Fate::may_die), {.interruptions = 2});
  explore_all(takers(small, {"dtr", "dtr"}, Fate::may_die), {.interruptions = 2});
}

TEST(ChunkStack, HoldsInLongRandomSchedules) {
  SmallPool small(1, 3);
  explore_at_random(takers(small, {"ttrtrtrr", "trttrtrr", "tttrrr"}, Fate::may_die), 5000);
  explore_at_random(takers(small, {"dttrtrtrr", "trdttrtrr", "tttrrdr", "trtrtrd"}), 5000);
}

}  // namespace
}  // namespace glean::schedule
