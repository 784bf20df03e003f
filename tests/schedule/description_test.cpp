// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptions: a process that looks while one is made, given up, or left unfinished finds a whole beginning of it or nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "explore.hpp"
#include "pool/description.hpp"
#include "pool/journal.hpp"
#include "small_pool.hpp"

namespace glean::schedule {
namespace {

enum class Ending { complete, given_up };

std::byte pattern(std::size_t at) { return static_cast<std::byte>(1 + at % 251); }

// Rank 0 describes an output in two goes, another process fills whatever chunks are free, the drain looks.
class Describing : public Scenario {
 public:
  Describing(SmallPool& small, Ending ending, Fate fate) : small_(small), ending_(ending), fate_(fate) {
    small_.reset();
    output_ = *small_.pool().open_slot(0);
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = pattern(i);
  }

  std::vector<Process> processes() override {
    return {{"rank 0", [this] { describe(); }, fate_}, {"rank 1", [this] { fill_free_chunks(); }},
            {"drain", [this] { look(); }}};
  }
  void check_end() override {
    const auto found = pool::read_description(small_.pool(), output_);
    if (!is_dead(0)) require(found.complete == (ending_ == Ending::complete), "it ends otherwise");
    pool::forget_description(small_.pool(), output_);
    const std::size_t lost = small_.chunk_count() - small_.first_chunk() - small_.free_chunks().size();
    require(lost <= (is_dead(0) ? (ending_ == Ending::given_up ? 2 : 1) : 0), std::to_string(lost) + " chunks are lost");
  }
  std::string name_of(const void* word) const override {
    if (word == &small_.pool().slot(0).description) return "description";
    return small_.name_of(word);
  }

 private:
  void describe() {
    pool::Recorder recorder(small_.pool(), 0, 1e6, [] { return std::string("no rank is missing"); });
    const std::span<const std::byte> bytes = bytes_;
    recorder.describe(output_, bytes.first(40), pool::Recorder::More::follow);
    if (ending_ == Ending::given_up) {
      pool::forget_description(small_.pool(), output_);
      small_.pool().slot(0).state = pool::OutputState::free;
    } else {
      recorder.describe(output_, bytes.subspan(40), pool::Recorder::More::none);
    }
  }
  void fill_free_chunks() {
    pool::Pool& pool = small_.pool();
    for (int turn = 0; turn < 2; ++turn) {
      const auto chunk = pool.take_chunk();
      if (!chunk) continue;
      std::memset(pool.at(pool.offset_of_chunk(*chunk)), 0xff, pool.header().chunk_bytes);
      pool.drop_reference(*chunk);
    }
  }
  void look() {
    for (int turn = 0; turn < 2; ++turn) {
      const auto found = pool::read_description(small_.pool(), output_);
      require(found.bytes.size() <= bytes_.size(), "too long");
      require(std::equal(found.bytes.begin(), found.bytes.end(), bytes_.begin()), "a description is spoiled");
      require(!found.complete || found.bytes.size() == bytes_.size(), "it seems complete too early");
    }
  }

  SmallPool& small_;
  Ending ending_;
  Fate fate_;
  pool::OutputKey output_;
  std::array<std::byte, 200> bytes_{};
};

MakeScenario describing(SmallPool& small, Ending ending, Fate fate) {
  return [&small, ending, fate] { return std::make_unique<Describing>(small, ending, fate); };
}

TEST(Description, IsReadWholeOrAsABeginning) {
  SmallPool small(1, 5);
  explore_all(describing(small, Ending::complete, Fate::survives), {.interruptions = 2});
  explore_all(describing(small, Ending::complete, Fate::may_die), {.interruptions = 1});
}

TEST(Description, ThatIsGivenUpIsNotMistakenForADamagedOne) {
  SmallPool small(1, 3);
  explore_all(describing(small, Ending::given_up, Fate::survives), {.interruptions = 2});
  explore_all(describing(small, Ending::given_up, Fate::may_die), {.interruptions = 1});
}

}  // namespace
}  // namespace glean::schedule
