// SPDX-License-Identifier: BSD-3-Clause
//
// The report says what happened, and its figures add up.
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "ranks.hpp"

namespace glean::test {

namespace {

using nlohmann::json;

class Report : public Ranks {
 protected:
  [[nodiscard]] json report() const { return json::parse(content("report.json")); }
  [[nodiscard]] Settings reporting(Settings more = {}) const {
    more.insert({"report.file", path("report.json")});
    return with(more);
  }
};

TEST_F(Report, HasFiguresThatAddUp) {
  constexpr std::uint64_t per_rank = 100'000;
  double blocked = 0;
  {
    Session session(MPI_COMM_WORLD, reporting({{"drain.threads", "2"}, {"drain.request", "256KiB"}}));
    for (const char* name : {"a.nc", "b.nc"}) {
      Simple file(session, path(name), per_rank);
      file.whole_step(1);
      file.whole_step(2);
      file.out.close();
    }
    session.wait(Level::durable);
    session.close();
    blocked = session.statistics().blocked_seconds;
    EXPECT_EQ(session.statistics().captured_bytes, 2 * 3 * per_rank * 8);
    EXPECT_EQ(session.statistics().puts, 6U);
  }
  double slowest = 0;
  MPI_Allreduce(&blocked, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank_ != 0) return;

  const json all = report();

  const auto ranks = static_cast<std::uint64_t>(size_);
  const std::uint64_t bytes = 2 * 3 * per_rank * 8 * ranks;
  EXPECT_EQ(all["schema"], "glean-report-1");
  EXPECT_EQ(all["ranks"], ranks);
  EXPECT_EQ(all["puts"], 6 * ranks);
  EXPECT_EQ(all["mode"], "threaded");
  EXPECT_GE(all["nodes"], 1);
  EXPECT_EQ(all["puts_of_boxes"], 0);
  ASSERT_EQ(all["steps"].size(), 4U);
  std::uint64_t of_steps = 0;
  double blocked_in_steps = 0;
  for (const json& step : all["steps"]) {
    of_steps += step["captured_bytes"].get<std::uint64_t>();
    blocked_in_steps += step["blocked_seconds"].get<double>();
  }
  EXPECT_EQ(of_steps, bytes);
  EXPECT_GT(blocked_in_steps, 0);
  EXPECT_LT(all["steps"][0]["end_s"], all["steps"][3]["end_s"]);
  EXPECT_EQ(all["captured_bytes"], bytes);
  const double run = all["run_seconds"], most_blocked = all["blocked_seconds"]["max"];
  EXPECT_GT(run, 0);
  EXPECT_NEAR(most_blocked, slowest, 1e-6);
  EXPECT_LE(all["blocked_seconds"]["per_rank"][0].get<double>(), run);
  EXPECT_GT(all["setup_seconds"].get<double>(), 0);
  EXPECT_LE(all["closing_seconds"].get<double>(), most_blocked);
  EXPECT_EQ(all["blocked_seconds"]["per_rank"].size(), ranks);
  EXPECT_NEAR(all["observed_bytes_per_second"].get<double>(), static_cast<double>(bytes) / most_blocked, 1);
  EXPECT_GT(all["epoch_realtime_s"].get<double>(), 1e9);
  EXPECT_EQ(all["pool"]["budget_bytes"], 16 << 20);
  EXPECT_GT(all["pool"]["high_water_bytes"], 0);
  EXPECT_LE(all["pool"]["high_water_bytes"], all["pool"]["budget_bytes"]);
  EXPECT_GT(all["pool"]["chunk_bytes"], 0);
  EXPECT_EQ(all["passthrough"].size(), 0U);
}

TEST_F(Report, TellsOutputsAndRequests) {
  constexpr std::uint64_t per_rank = 100'000;
  {
    Session session(MPI_COMM_WORLD, reporting({{"drain.threads", "2"}, {"drain.request", "256KiB"}}));
    Simple good(session, path("good.nc"), per_rank), failing(session, path("failing.nc"), per_rank);
    Simple abandoned(session, path("abandoned.nc"), per_rank);
    good.whole_step(1);
    good.whole_step(2);
    failing.step(1);
    failing.out.put(failing.record, std::vector<double>(per_rank));
    failing.out.end_step();
    abandoned.whole_step(1);
    good.out.close();
    failing.out.close();
    EXPECT_ERROR(session.close(), Errc::overlap, "failing.nc");
  }
  if (rank_ != 0) return;

  const json all = report(), drain = all["drain"];

  const std::uint64_t bytes = 3 * per_rank * 8 * static_cast<std::uint64_t>(size_);
  std::map<std::string, json> outputs;
  for (const json& output : all["outputs"]) outputs[output["state"]] = output;
  ASSERT_EQ(outputs.size(), 3U) << all["outputs"];
  const json& good = outputs["published"];
  EXPECT_EQ(good["path"], path("good.nc"));
  EXPECT_EQ(good["bytes"], bytes);
  EXPECT_EQ(good["steps"], 2);
  EXPECT_EQ(good["range_errors"], 0);
  EXPECT_LE(good["first_capture_s"], good["last_capture_s"]);
  EXPECT_LE(good["last_capture_s"], good["durable_s"]);
  EXPECT_LE(good["written_s"], good["durable_s"]);
  EXPECT_LE(good["durable_s"], all["run_seconds"]);
  EXPECT_NEAR(all["raw_bytes_per_second"].get<double>(),
              static_cast<double>(bytes) / (good["durable_s"].get<double>() - good["first_capture_s"].get<double>()),
              1e-3 * all["raw_bytes_per_second"].get<double>());
  EXPECT_TRUE(outputs["failed"]["durable_s"].is_null());
  EXPECT_TRUE(outputs["abandoned"]["durable_s"].is_null());

  EXPECT_EQ(drain["threads"], 2);
  EXPECT_TRUE(drain["io_uring"].is_boolean());
  EXPECT_GT(drain["busy_seconds"].get<double>(), 0);
  EXPECT_GT(drain["cpu_seconds"].get<double>(), 0);
  std::uint64_t requests = 0, sized = 0, written = 0;
  for (const json& kind : drain["requests"]) {
    requests += kind["count"].get<std::uint64_t>();
    written += kind["bytes"].get<std::uint64_t>();
  }
  for (const json& size : drain["request_sizes"]) sized += size["count"].get<std::uint64_t>();
  EXPECT_GE(written, bytes);
  EXPECT_GT(requests, 0U);
  EXPECT_GT(sized, 0U);
  double end = 0;
  for (const json& interval : drain["intervals"]) {
    EXPECT_LE(end, interval[0].get<double>());
    EXPECT_LE(interval[0], interval[1]);
    end = interval[1];
  }
  EXPECT_GT(end, 0);
}

// As Slurm sets it for a job that has 40 s left: the deadline boost begins, because nothing tells the drain that it is fast.
TEST_F(Report, TellsHowTheEndOfTheJobWasMet) {
  setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 40).c_str(), 1);
  {
    Session session(MPI_COMM_WORLD, reporting({{"log.level", "off"}}));
    Simple file(session, path("a.nc"), 10'000);
    file.whole_step(1);
    file.out.close();
    session.wait(Level::durable);
    session.close();
  }
  unsetenv("SLURM_JOB_END_TIME");
  if (rank_ != 0) return;

  const json end = report()["end_of_job"];

  ASSERT_TRUE(end.is_object());
  EXPECT_GT(end["end_s"], 30);
  EXPECT_LE(end["end_s"], 40);
  EXPECT_GE(end["boost_s"], 0);
  EXPECT_LE(end["boost_s"], report()["run_seconds"]);
  EXPECT_EQ(end["warnings"], 0);
  EXPECT_EQ(report()["drain"]["threads"], 1 + end["added_threads"].get<int>());
  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Report, TellsWhatTheJobWasAboutToLose) {
  const auto run = [&](const Settings& more) {
    Session session(MPI_COMM_WORLD, reporting(more));
    Simple file(session, path("a.nc"), 50'000);
    file.step(1);   // it cannot be written before the step has ended
    usleep(2'500'000);
    file.out.end_step();
    file.out.close();
    session.close();
    return rank_ == 0 ? report()["end_of_job"] : json();
  };

  const json worst = run({{"log.level", "off"}, {"job.end", "100s"}})["worst"];
  const json none = run({{"job.end", "none"}});

  if (rank_ != 0) return;
  EXPECT_EQ(worst["waiting_bytes"], 2 * 50'000 * 8 * size_);
  EXPECT_GT(worst["seconds_left"], 90);
  EXPECT_TRUE(worst["bytes_per_second"].is_null()) << "it had written nothing";
  EXPECT_TRUE(worst["needed_seconds"].is_null());
  EXPECT_EQ(worst["lost_bytes"], 0);
  EXPECT_TRUE(none.is_null());
}

TEST_F(Report, TellsWhatPassedThrough) {
  {
    Session session(MPI_COMM_WORLD, reporting({{"mode", "passthrough"}}));
    Simple file(session, path("a.nc"), 1000);
    file.whole_step(1);
    file.out.close();
    session.close();
  }
  if (rank_ != 0) return;
  const json all = report();
  ASSERT_EQ(all["passthrough"].size(), 1U);
  EXPECT_EQ(all["passthrough"][0]["path"], path("a.nc"));
  EXPECT_EQ(all["passthrough"][0]["bytes"], 2 * 1000 * 8 * size_);
  EXPECT_GT(all["passthrough"][0]["seconds"].get<double>(), 0);
  EXPECT_EQ(all["pool"]["budget_bytes"], 0);
  EXPECT_EQ(all["outputs"].size(), 0U);
}

TEST_F(Report, TakesNamesThatAreNotUtf8) {
  {
    Session session(MPI_COMM_WORLD, reporting());
    Simple file(session, path("caf\xe9.nc"));
    file.whole_step(1);
    file.out.close();
    session.close();
  }
  EXPECT_TRUE(exists("caf\xe9.nc"));
  if (rank_ == 0) EXPECT_EQ(report()["outputs"].size(), 1U);
}

TEST_F(Report, IsPrintedAsATable) {
  // Standard error of rank 0 goes into a file for a while.
  const int saved = dup(STDERR_FILENO);
  if (rank_ == 0) ASSERT_NE(freopen(path("table").c_str(), "w", stderr), nullptr);
  {
    Session session(MPI_COMM_WORLD, with({{"report.table", "true"}, {"job.end", "1h"}}));
    Simple file(session, path("a.nc"), 1000);
    file.whole_step(1);
    file.out.close();
    session.close();
  }
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  if (rank_ != 0) return;
  const std::string table = content("table");
  for (const char* line : {"GLEAN report", "blocked time", "observed throughput", "raw throughput",
                           "pool high-water mark", "requests, whole blocks", "end of the job             ",
                           "outputs published          1"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << " is not in\n" << table;
  }
}

}  // namespace

}  // namespace glean::test
