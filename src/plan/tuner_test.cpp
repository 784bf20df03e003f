// SPDX-License-Identifier: BSD-3-Clause
#include "plan/tuner.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace glean::plan {
namespace {

using base::MiB;

constexpr Tuner::Bounds bounds{.aggregators_max = 4, .request_min = 1 * MiB};
constexpr Tuner::Setup planned{.aggregators = 2, .request_bytes = 8 * MiB};

// Writes `files` files one after the other, each as fast as `rate` says. What the last is written with.
Tuner::Setup play(Tuner& tuner, int files, const std::function<double(const Tuner::Setup&)>& rate, Bytes bytes = 100 * MiB) {
  Tuner::Setup setup;
  for (int n = 0; n < files; ++n) {
    setup = tuner.setup_for("f" + std::to_string(n), planned, bytes);
    tuner.measured(planned, setup, bytes, static_cast<double>(bytes) / rate(setup));
  }
  return setup;
}

TEST(Tuner, KeepsWhatIsFaster) {
  Tuner tuner(bounds);
  const auto setup = play(tuner, 30, [](const Tuner::Setup& s) { return s.aggregators == 4 ? 2e9 : 1e9; });
  EXPECT_EQ(setup, (Tuner::Setup{4, 8 * MiB}));
}

TEST(Tuner, GoesBackWhereNothingIsFasterAndStaysThere) {
  Tuner tuner(bounds);
  EXPECT_EQ(play(tuner, 30, [](const Tuner::Setup&) { return 1e9; }), planned);
  const std::size_t changes = tuner.changes().size();
  EXPECT_LE(changes, Tuner::changes_max);
  EXPECT_GE(changes, 2U);
  EXPECT_EQ(play(tuner, 100, [](const Tuner::Setup&) { return 5e9; }), planned);
  EXPECT_EQ(tuner.changes().size(), changes);
}

TEST(Tuner, DoesNotTakeNoiseForSpeed) {
  Tuner tuner(bounds);
  int n = 0;
  EXPECT_EQ(play(tuner, 30, [&](const Tuner::Setup&) { return 1e9 * (1 + 0.02 * (++n % 4)); }), planned);
}

TEST(Tuner, SaysWhatItChangedAndWhy) {
  Tuner tuner(bounds);
  play(tuner, 3, [](const Tuner::Setup&) { return 1e9; });
  ASSERT_EQ(tuner.changes().size(), 1U);
  EXPECT_EQ(tuner.changes()[0].file, "f2");
  EXPECT_EQ(tuner.changes()[0].from, planned);
  EXPECT_EQ(tuner.changes()[0].to, (Tuner::Setup{2, 4 * MiB}));
  EXPECT_EQ(tuner.changes()[0].why, "954 MiB/s until now, trying half the request");
}

TEST(Tuner, StaysWithinItsBounds) {
  Tuner tuner({.aggregators_max = 2, .request_min = 8 * MiB});
  play(tuner, 40, [&](const Tuner::Setup& setup) {
    EXPECT_EQ(setup.request_bytes, 8 * MiB);
    EXPECT_LE(setup.aggregators, 2);
    return 1e9;
  });
}

// A window holds no longer ones.
TEST(Tuner, MakesRequestsNeverLongerThanPlanned) {
  Tuner tuner(bounds);
  play(tuner, 40, [&](const Tuner::Setup& setup) {
    EXPECT_LE(setup.request_bytes, planned.request_bytes);
    return static_cast<double>(setup.request_bytes);
  });
}

TEST(Tuner, ChangesOnlyAFewTimesHoweverManyKindsOfFilesThereAre) {
  Tuner tuner(bounds);
  for (Bytes bytes = MiB; bytes < 100000 * MiB; bytes *= 2) play(tuner, 20, [](const Tuner::Setup&) { return 1e9; }, bytes);
  EXPECT_LE(tuner.changes().size(), Tuner::changes_max);
  // Each that was tried and not better is given up again.
  for (Bytes bytes = MiB; bytes < 100000 * MiB; bytes *= 2) EXPECT_EQ(tuner.setup_for("g", planned, bytes), planned);
}

TEST(Tuner, DoesNotCountFilesOfAnEarlierTrial) {
  Tuner tuner(bounds);
  const Bytes bytes = 100 * MiB;
  for (int n = 0; n < 5; ++n) EXPECT_EQ(tuner.setup_for("f", planned, bytes), planned);   // all on their way
  for (int n = 0; n < 2; ++n) tuner.measured(planned, planned, bytes, 1);
  EXPECT_NE(tuner.setup_for("g", planned, bytes), planned);
  for (int n = 0; n < 3; ++n) tuner.measured(planned, planned, bytes, 0.001);
  EXPECT_EQ(tuner.changes().size(), 1U);
  static_cast<void>(tuner.setup_for("h", planned, bytes));
  EXPECT_EQ(tuner.changes().size(), 1U);
}

}  // namespace
}  // namespace glean::plan
