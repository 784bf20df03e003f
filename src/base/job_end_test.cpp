// SPDX-License-Identifier: BSD-3-Clause
#include "base/job_end.hpp"

#include <gtest/gtest.h>

namespace glean::base {
namespace {

constexpr std::uint64_t s = 1'000'000'000;
constexpr std::int64_t noon = 1'769'860'800;   // 2026-01-31T12:00:00Z
constexpr std::uint64_t now = static_cast<std::uint64_t>(noon - 600) * s;

std::int64_t moment(const char* text) {
  const auto end = parse_job_end(text);
  return end && end->kind == JobEnd::Kind::at ? end->epoch_seconds : -1;
}

TEST(JobEnd, IsAMomentWithItsOffsetFromUtc) {
  EXPECT_EQ(moment("2026-01-31T12:00:00Z"), noon);
  EXPECT_EQ(moment("2026-01-31t12:00:00z"), noon);
  EXPECT_EQ(moment("2026-01-31 13:00:00+01:00"), noon);
  EXPECT_EQ(moment("2026-01-31T06:30:00-05:30"), noon);
  EXPECT_EQ(moment("2026-02-01T01:59:59.75+14:00"), noon - 1);
  EXPECT_EQ(moment("2024-02-29T00:00:00Z"), 1'709'164'800);
  EXPECT_EQ(moment("1970-01-01T00:00:00Z"), 0);
}

TEST(JobEnd, IsADurationOrAWord) {
  EXPECT_EQ(parse_job_end("auto"), JobEnd{});
  EXPECT_EQ(parse_job_end("none"), JobEnd{.kind = JobEnd::Kind::none});
  EXPECT_EQ(parse_job_end("55min"), (JobEnd{.kind = JobEnd::Kind::after, .seconds = 3300}));
  EXPECT_EQ(parse_job_end("3300"), (JobEnd{.kind = JobEnd::Kind::after, .seconds = 3300}));
}

TEST(JobEnd, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "soon", "Auto", "0", "0s", "-5min", "1e300h", "99999999999s", "2026-01-31", "2026-01-31T12:00:00",
        "2026-01-31T12:00Z", "2026-02-29T12:00:00Z", "2026-13-01T12:00:00Z", "2026-00-01T12:00:00Z",
        "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z", "2026-01-31T12:00:61Z", "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00Z ", " 2026-01-31T12:00:00Z", "2026-01-31T12:00:00.Z",
        "1970-01-01T00:00:00+01:00", "9999-01-31T12:00:00Z", "12:00"}) {
    EXPECT_EQ(parse_job_end(text), std::nullopt) << text;
  }
}

TEST(JobEnd, IsPrintedSoThatItReadsBackTheSame) {
  for (const char* text : {"auto", "none", "90s", "0.5s", "2026-01-31T12:00:00Z", "2000-02-29T23:59:59Z"}) {
    ASSERT_TRUE(parse_job_end(text)) << text;
    EXPECT_EQ(exact_job_end(*parse_job_end(text)), text);
  }
  EXPECT_EQ(exact_job_end(*parse_job_end("2026-01-31T13:00:00.9+01:00")), "2026-01-31T12:00:00Z");
}

TEST(JobEnd, IsFoundInWhatSlurmSays) {
  const auto found = find_job_end({}, now, std::to_string(noon).c_str());

  EXPECT_EQ(found.realtime_ns, static_cast<std::uint64_t>(noon) * s);
  EXPECT_EQ(found.source, "SLURM_JOB_END_TIME");
  EXPECT_EQ(found.ignored, "");
}

TEST(JobEnd, IsNotKnownWithoutSlurmOrWhereNoneIsSet) {
  EXPECT_EQ(find_job_end({}, now, nullptr).realtime_ns, 0u);
  EXPECT_EQ(find_job_end({}, now, nullptr).source, "");
  EXPECT_EQ(find_job_end({.kind = JobEnd::Kind::none}, now, std::to_string(noon).c_str()).realtime_ns, 0u);
}

TEST(JobEnd, GoesBeforeWhatSlurmSaysWhenItIsSet) {
  const std::string slurm = std::to_string(noon);

  EXPECT_EQ(find_job_end(*parse_job_end("1.5s"), now, slurm.c_str()).realtime_ns, now + 3 * s / 2);
  EXPECT_EQ(find_job_end(*parse_job_end("2026-01-31T11:55:00Z"), now, slurm.c_str()).realtime_ns, now + 300 * s);
}

TEST(JobEnd, DoesNotCountWhereItCannotBe) {
  const std::string milliseconds = std::to_string(noon * 1000);
  for (const char* slurm : {"", "Unknown", "0", "-1", "1769860800s", "1769860199", "99999999999999999999",
                            milliseconds.c_str()}) {
    const auto found = find_job_end({}, now, slurm);
    EXPECT_EQ(found.realtime_ns, 0u) << slurm;
    EXPECT_EQ(found.source, "SLURM_JOB_END_TIME") << slurm;
    EXPECT_NE(found.ignored, "") << slurm;
  }
  const auto passed = find_job_end(*parse_job_end("2026-01-30T12:00:00Z"), now, nullptr);
  EXPECT_EQ(passed.realtime_ns, 0u);
  EXPECT_EQ(passed.ignored, "2026-01-30T12:00:00Z has passed");
}

}  // namespace
}  // namespace glean::base
