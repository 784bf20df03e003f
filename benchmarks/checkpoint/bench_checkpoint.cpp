// SPDX-License-Identifier: BSD-3-Clause
//
// What a simulation waits for when it writes: PnetCDF blocking, PnetCDF nonblocking and GLEAN in one program,
// one after the other, in turns, with fresh files each time, which are compared at the end.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/contenders.hpp"
#include "checkpoint/workload.hpp"
#include "command_line.hpp"
#include "measure.hpp"

using namespace glean::benchmarks;

namespace {

struct Options {
  std::string directory = "bench-files";
  std::string json;
  std::string workload = "flash";
  std::string storage = "plain";
  std::string budget;
  double rate_mb_per_s = 0;
  int repetitions = 5;
  std::uint64_t blocks = 198;
  int dumps = 36;
  bool quick = false;
};

std::string directory_of(const Options& options, Contender contender) {
  return options.directory + "/" + std::to_string(static_cast<int>(contender));
}

// Names of files that differ from those of PnetCDF blocking.
std::vector<std::string> differences(const Options& options, const Workload& workload) {
  std::vector<std::string> different;
  const std::string expected = directory_of(options, Contender::pnetcdf_blocking);
  for (const Contender contender : contenders) {
    for (const File& file : workload.files) {
      if (!same_bytes(expected + "/" + file.name, directory_of(options, contender) + "/" + file.name)) {
        different.push_back(std::string(name_of(contender)) + ": " + file.name);
      }
    }
  }
  return different;
}

Json results_of(const std::map<Contender, std::vector<Outcome>>& outcomes, std::uint64_t bytes) {
  const auto of = [&](Contender contender, double Outcome::*member) {
    std::vector<double> values;
    for (const Outcome& outcome : outcomes.at(contender)) values.push_back(outcome.*member);
    return values;
  };
  const auto middle = [&](Contender contender, double Outcome::*member) { return median(of(contender, member)); };
  const double reference_blocked = middle(Contender::pnetcdf_blocking, &Outcome::blocked_seconds);
  const double reference_durable = middle(Contender::pnetcdf_blocking, &Outcome::durable_seconds);
  const double reference_cpu = middle(Contender::pnetcdf_blocking, &Outcome::cpu_seconds);
  Json results = Json::array();
  for (const Contender contender : contenders) {
    const double blocked = middle(contender, &Outcome::blocked_seconds);
    const double durable = middle(contender, &Outcome::durable_seconds);
    const double cpu = middle(contender, &Outcome::cpu_seconds);
    results.push_back({{"contender", name_of(contender)},
                       {"blocked_seconds", blocked},
                       {"durable_seconds", durable},
                       {"cpu_seconds", cpu},
                       {"blocked_cpu_seconds", middle(contender, &Outcome::blocked_cpu_seconds)},
                       {"observed_mb_per_s", static_cast<double>(bytes) / blocked * 1e-6},
                       {"raw_mb_per_s", static_cast<double>(bytes) / durable * 1e-6},
                       {"blocked_shorter_by", reference_blocked / blocked},
                       {"durable_to_reference", durable / reference_durable},
                       {"cpu_to_reference", cpu / reference_cpu},
                       {"each_blocked_seconds", of(contender, &Outcome::blocked_seconds)},
                       {"each_durable_seconds", of(contender, &Outcome::durable_seconds)},
                       {"each_cpu_seconds", of(contender, &Outcome::cpu_seconds)}});
  }
  return results;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("FLASH's and S3D's files through PnetCDF and through GLEAN");
  line.option("--directory", options.directory, "where the files go");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.one_of({"flash", "s3d"}, "--workload", options.workload);
  line.option("--storage", options.storage, "what the directory is on, for the result");
  line.option("--rate", options.rate_mb_per_s, "MB/s that the storage is limited to, for the result; 0: none");
  line.positive("--repetitions", options.repetitions);
  line.option("--blocks", options.blocks, "blocks of a rank, for flash");
  line.option("--dumps", options.dumps, "restart files, for s3d");
  line.option("--budget", options.budget, "of the pool; default: room for everything");
  line.flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (options.quick) {
    options.blocks = 2;
    options.dumps = 2;
  }
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    const Workload workload = options.workload == "flash"
                                  ? flash(ranks.rank(), ranks.count(), options.blocks)
                                  : s3d(ranks.rank(), ranks.count(), options.dumps);
    const std::uint64_t bytes = workload.bytes_of_all_ranks();
    // Captured in memory types: the plot file's floats are doubles until the drain converts them. The journal and
    // the ends of chunks take their part.
    const std::string budget =
        !options.budget.empty() ? options.budget : std::to_string(bytes / MiB * 3 / 2 + 64) + "MiB";
    const double begin = now_seconds();
    glean::Session session(MPI_COMM_WORLD, {{"pool.budget", budget}});
    const double session_seconds = ranks.max(now_seconds() - begin);

    std::map<Contender, std::vector<Outcome>> outcomes;
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      for (int turn = 0; turn < 3; ++turn) {
        const Contender contender = contenders[(turn + repetition) % 3];
        if (ranks.root()) empty_directory(directory_of(options, contender));
        ranks.wait_quietly();
        outcomes[contender].push_back(write(contender, ranks, session, workload, directory_of(options, contender)));
      }
    }
    const glean::Statistics statistics = session.statistics();
    session.close();
    if (!ranks.root()) return 0;

    Json json = {{"benchmark", "checkpoint"},
                 {"recipe", recipe(ranks, options.directory, options.repetitions)},
                 {"quick", options.quick},
                 {"statement",
                  "medians; blocked: in library calls, from the first open to the last close, slowest rank; durable: "
                  "from the first open until everything is fsynced; cpu: all ranks and threads in that time"},
                 {"workload", workload.name},
                 {"storage", options.storage},
                 {"rate_mb_per_s", options.rate_mb_per_s},
                 {"files", workload.files.size()},
                 {"bytes", bytes},
                 {"session_seconds", session_seconds},
                 {"pool_budget_bytes", statistics.pool_budget_bytes},
                 {"pool_high_water_bytes", statistics.pool_high_water_bytes},
                 {"results", results_of(outcomes, bytes)}};
    const std::vector<std::string> different = differences(options, workload);
    json["identical_files"] = different.empty();
    json["different_files"] = different;
    std::filesystem::remove_all(options.directory);
    write_json(json, options.json);
    return different.empty() ? 0 : 1;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
