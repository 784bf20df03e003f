// SPDX-License-Identifier: BSD-3-Clause
#include "pool/wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "pool/futex.hpp"

namespace glean::pool {
namespace {

constexpr std::uint64_t long_nap_ns = 60'000'000'000, short_nap_ns = 1'000'000;

TEST(Wait, EndsWhenAnotherThreadMakesTheConditionHold) {
  Atomic<std::uint32_t> word{0};
  std::atomic<bool> holds = false;
  Wait wait(word, 60, long_nap_ns);
  std::thread other([&] {
    holds = true;
    futex_signal(word);
  });
  EXPECT_TRUE(wait.until([&] { return holds.load(); }));
  other.join();
}

TEST(Wait, EndsWhenTheTimeIsOver) {
  Atomic<std::uint32_t> word{0};
  Wait wait(word, 0.02, long_nap_ns);
  EXPECT_FALSE(wait.until([] { return false; }));
  EXPECT_TRUE(wait.until([] { return true; })) << "what holds is not late";
  EXPECT_FALSE(wait.until([] { return false; })) << "the time goes on";
  EXPECT_EQ(wait.text(), "0.02s");
}

// The word alone is no progress: it changes for other reasons, too (case 08).
TEST(Wait, StartsAnewWithProgressAndNotWithTheWord) {
  Atomic<std::uint32_t> word{0};
  std::uint64_t progress = 0;
  int moves = 0, naps = 0;
  Wait wait(word, 0.05, short_nap_ns);
  wait.restart_with([&] { return progress; }).meanwhile([&] {
    ++word;
    ++naps;
    if (moves < 3 && naps % 20 == 0) {
      ++moves;
      ++progress;
    }
  });
  const std::uint64_t begin = base::now_ns();
  EXPECT_FALSE(wait.until([] { return false; }));
  EXPECT_GE(base::seconds(base::now_ns() - begin), 0.05);
  EXPECT_EQ(moves, 3);
  EXPECT_EQ(wait.text(), "0.05s without progress");
}

TEST(Wait, IsEndedByWhatIsThrownMeanwhile) {
  Atomic<std::uint32_t> word{0};
  Wait wait(word, 60, long_nap_ns);
  wait.meanwhile([] { throw std::runtime_error("the session is broken"); });
  EXPECT_THROW(static_cast<void>(wait.until([] { return false; })), std::runtime_error);
}

}  // namespace
}  // namespace glean::pool
