// SPDX-License-Identifier: BSD-3-Clause
#include "drain/end_of_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace glean::drain {
namespace {

using base::GiB;
using base::MiB;

// A drain with a clock of its own: a second goes by, with so many bytes captured and written.
struct VirtualDrain {
  explicit VirtualDrain(double seconds_left) {
    position.seconds_left = seconds_left;
    last = end.look(position);
  }
  EndOfJob::Look second(Bytes written, double busy = 1) {
    position.now_ns += 1'000'000'000;
    position.busy_ns += static_cast<std::uint64_t>(busy * 1e9);
    position.seconds_left -= 1;
    position.written_bytes += written;
    position.waiting_bytes -= std::min(position.waiting_bytes, written);
    last = end.look(position);
    warnings += last.warn ? 1 : 0;
    return last;
  }
  EndOfJob::Look pause() { return second(0, 0); }

  DrainPosition position{.now_ns = 5'000'000'000, .written_bytes = 7 * GiB, .busy_ns = 1'000'000'000};
  EndOfJob end;
  EndOfJob::Look last;
  int warnings = 0;
};

TEST(EndOfJob, KnowsTheRateAfterASecondOfWorkOrEnoughBytes) {
  VirtualDrain slow(1000), fast(1000);

  EXPECT_EQ(slow.last.forecast.bytes_per_second, std::nullopt) << "what was before does not count";
  EXPECT_EQ(slow.second(10 * MiB, 0.6).forecast.bytes_per_second, std::nullopt);
  EXPECT_NEAR(*slow.second(10 * MiB, 0.6).forecast.bytes_per_second, 10.0 * MiB / 0.6, 1);
  EXPECT_NEAR(*fast.second(512 * MiB, 0.25).forecast.bytes_per_second, 2048.0 * MiB, 1) << "in the time that it took";
}

TEST(EndOfJob, DoesNotTakePausesAndSmallFilesForASlowDrain) {
  VirtualDrain drain(10'000);
  for (int i = 0; i < 5; ++i) drain.second(60 * MiB);

  for (int i = 0; i < 100; ++i) drain.pause();
  for (int i = 0; i < 100; ++i) drain.second(4096, 0.2);

  EXPECT_NEAR(*drain.last.forecast.bytes_per_second, 60.0 * MiB, 1);
}

TEST(EndOfJob, ForgetsHowFastItWas) {
  VirtualDrain drain(10'000);
  for (int i = 0; i < 60; ++i) drain.second(100 * MiB);

  for (int i = 0; i < 10; ++i) drain.second(20 * MiB);
  const double after_half_life = *drain.last.forecast.bytes_per_second;
  for (int i = 0; i < 90; ++i) drain.second(20 * MiB);

  EXPECT_NEAR(after_half_life, 60.0 * MiB, 1.0 * MiB);
  EXPECT_NEAR(*drain.last.forecast.bytes_per_second, 20.0 * MiB, 0.2 * MiB);
}

TEST(EndOfJob, BoostsWhenTheTimeThatIsNeededIsNearTheTimeThatIsLeft) {
  VirtualDrain drain(1000);
  drain.second(100 * MiB);
  EXPECT_FALSE(drain.last.boost);
  drain.position.waiting_bytes = 40'000 * MiB;   // 400 s: × 1.5 + 30 = 630

  double left = 0;
  while (!drain.second(0, 0).boost) left = drain.last.forecast.seconds_left;

  EXPECT_EQ(drain.last.forecast.seconds_left, 630);
  EXPECT_EQ(left, 631);
  EXPECT_EQ(drain.warnings, 0) << "it will make it";
}

TEST(EndOfJob, TakesItsTimeAgainWhenThereIsEnoughOfIt) {
  VirtualDrain drain(602);
  drain.second(100 * MiB);
  const auto boosts_with = [&](Bytes waiting) {
    drain.position.waiting_bytes = waiting;
    return drain.pause().boost;
  };

  EXPECT_TRUE(boosts_with(38'000 * MiB)) << "600 s: 380 × 1.5 + 30 = 600";
  EXPECT_TRUE(boosts_with(27'000 * MiB)) << "599 s: 270 × 2 + 60 = 600";
  EXPECT_FALSE(boosts_with(26'800 * MiB)) << "598 s: 268 × 2 + 60 = 596";
  EXPECT_FALSE(boosts_with(27'000 * MiB)) << "597 s: 270 × 1.5 + 30 = 435";
}

TEST(EndOfJob, BoostsInTheLastMinuteWhenItDoesNotKnowTheRate) {
  VirtualDrain drain(62);

  EXPECT_FALSE(drain.pause().boost);
  EXPECT_TRUE(drain.pause().boost);
  EXPECT_EQ(drain.last.forecast.seconds_left, 60);
  while (drain.position.seconds_left > -5) EXPECT_TRUE(drain.pause().boost);
  EXPECT_EQ(drain.warnings, 0);
}

TEST(EndOfJob, WarnsOnceWithWhatWillBeLost) {
  VirtualDrain drain(100);
  drain.position.waiting_bytes = 300 * 61 * MiB;
  std::vector<Forecast> warned;
  for (int i = 0; i < 95; ++i) {
    if (drain.second(61 * MiB).warn) warned.push_back(drain.last.forecast);
  }

  ASSERT_EQ(warned.size(), 1u);
  EXPECT_EQ(warned[0].seconds_left, 97) << "after three looks";
  EXPECT_EQ(warned[0].waiting_bytes, 297 * 61 * MiB);
  EXPECT_DOUBLE_EQ(*warned[0].needed_seconds(), 297);
  EXPECT_EQ(warned[0].lost_bytes(), 200 * 61 * MiB);
}

TEST(EndOfJob, WarnsAgainWhenTheLossHasDoubled) {
  VirtualDrain drain(100);
  drain.position.waiting_bytes = 120 * 10 * MiB;
  for (int i = 0; i < 10; ++i) drain.second(10 * MiB);
  EXPECT_EQ(drain.warnings, 1);

  drain.position.waiting_bytes += 19 * 10 * MiB;   // 20 before
  for (int i = 0; i < 20; ++i) drain.second(10 * MiB);
  EXPECT_EQ(drain.warnings, 1);
  drain.position.waiting_bytes += 2 * 10 * MiB;
  drain.second(10 * MiB);

  EXPECT_EQ(drain.warnings, 2);
  EXPECT_EQ(drain.last.forecast.lost_bytes(), 41 * 10 * MiB);
}

TEST(EndOfJob, DoesNotWarnOfALossThatPasses) {
  VirtualDrain drain(300);
  for (int i = 0; i < 5; ++i) drain.second(50 * MiB);
  drain.position.waiting_bytes = 15'000 * MiB;
  for (int i = 0; i < 60; ++i) drain.second(i % 3 == 2 ? 500 * MiB : 50 * MiB);   // its loss comes and goes

  EXPECT_EQ(drain.warnings, 0);
}

TEST(EndOfJob, KnowsAStorageThatHangs) {
  VirtualDrain never(200), stopped(2000);
  never.position.waiting_bytes = stopped.position.waiting_bytes = 10 * GiB;
  for (int i = 0; i < 9; ++i) never.second(0), stopped.second(100 * MiB);
  EXPECT_EQ(never.last.forecast.bytes_per_second, std::nullopt) << "the first write may take its time";
  for (int i = 0; i < 3; ++i) never.second(0), stopped.second(100 * MiB);
  EXPECT_EQ(*never.last.forecast.bytes_per_second, 0);
  EXPECT_EQ(never.last.forecast.needed_seconds(), std::nullopt);
  EXPECT_EQ(never.last.forecast.lost_bytes(), 10 * GiB);
  EXPECT_TRUE(never.last.boost);
  EXPECT_EQ(never.warnings, 1);
  EXPECT_FALSE(stopped.last.boost);

  for (int i = 0; i < 70; ++i) stopped.second(0);

  EXPECT_TRUE(stopped.last.boost) << "every ten seconds half of the rate";
  EXPECT_GE(stopped.warnings, 1);
}

TEST(EndOfJob, RemembersTheWorstMoment) {
  VirtualDrain drain(1000);
  drain.second(10 * MiB);
  EXPECT_EQ(drain.end.worst().at_ns, 0u) << "nothing waited";
  drain.position.waiting_bytes = 500 * MiB;
  drain.second(10 * MiB);
  const auto first = drain.end.worst();
  drain.position.waiting_bytes = 2000 * MiB;
  drain.second(10 * MiB);
  const auto second = drain.end.worst();
  while (drain.second(10 * MiB).forecast.waiting_bytes != 0) {}

  EXPECT_EQ(first.waiting_bytes, 490 * MiB);
  EXPECT_EQ(second.waiting_bytes, 1990 * MiB);
  EXPECT_EQ(drain.end.worst().at_ns, second.at_ns) << "the share of the time that is needed only fell";
  drain.position.waiting_bytes = 20'000 * MiB;
  drain.second(10 * MiB);
  EXPECT_EQ(drain.end.worst().lost_bytes(), 19'990 * MiB - static_cast<Bytes>(drain.position.seconds_left) * 10 * MiB);
}

TEST(EndOfJob, SaysItInNumbers) {
  Forecast forecast{.at_ns = 1, .seconds_left = 95, .waiting_bytes = 12698 * MiB, .bytes_per_second = 61.0 * MiB};
  EXPECT_EQ(warning_text(forecast),
            "the job ends in 95 s, 12.4 GiB wait in the pool and the drain writes 61 MiB/s: about 208 s are needed; "
            "6.74 GiB may be lost. Write less, or end the run earlier");
  forecast.seconds_left = 0;
  forecast.bytes_per_second = 0;
  EXPECT_EQ(warning_text(forecast),
            "the job's time is over, 12.4 GiB wait in the pool and the drain does not get on; 12.4 GiB may be lost. "
            "Write less, or end the run earlier");
}

}  // namespace
}  // namespace glean::drain
