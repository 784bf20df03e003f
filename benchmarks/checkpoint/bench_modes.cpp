// SPDX-License-Identifier: BSD-3-Clause
//
// What a simulation waits for in each mode: the same bytes through sessions of all of them, in turns. In mode `dedicated` one of
// the ranks of a node does not compute, and the others have its part. Or beside collective writing: one aggregator and one file for
// each I/O group, where groups are as the network is and where they are as the ranks come.
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoint/contenders.hpp"
#include "checkpoint/workload.hpp"
#include "command_line.hpp"
#include "measure.hpp"

using namespace glean::benchmarks;

namespace {

struct Variant {
  std::string name;
  std::map<std::string, std::string> settings;
};

struct Options {
  std::string directory = "bench-files";
  std::string json;
  int repetitions = 5;
  std::uint64_t blocks = 198;
  std::string groups_of_network, groups_of_ranks;   // machine files
  bool quick = false;

  // The first is what the others are beside.
  [[nodiscard]] std::vector<Variant> variants() const {
    if (groups_of_network.empty()) {
      std::vector<Variant> modes;
      for (const char* mode : {"passthrough", "collective", "threaded", "dedicated"}) modes.push_back({mode, {{"mode", mode}}});
      return modes;
    }
    const auto groups = [](const std::string& machine) {
      return std::map<std::string, std::string>{{"topology.machine", machine}, {"plan.aggregators", "1"}, {"plan.files", "group"}};
    };
    return {{"passthrough", {{"mode", "passthrough"}}},
            {"collective", {{"mode", "collective"}}},
            {"groups in the order of ranks", groups(groups_of_ranks)},
            {"groups of the network", groups(groups_of_network)}};
  }
  [[nodiscard]] std::string directory_of(const Variant& variant) const { return directory + "/" + variant.name; }
};

struct Times {
  double blocked_seconds = 0;   // slowest rank
  double durable_seconds = 0;
};

double max_of(MPI_Comm comm, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
  return all;
}

// One session in which the workload is written once. On a writer there is nothing to measure. Collective.
Times measure(const Variant& variant, const Options& options, std::uint64_t all_blocks) {
  auto settings = variant.settings;
  settings["pool.budget"] = std::to_string(all_blocks * 600'000 / MiB + 64) + "MiB";
  glean::Session session(MPI_COMM_WORLD, settings);
  if (session.is_writer()) return {};
  const MPI_Comm comm = session.application_comm();
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const Workload workload = flash(rank, ranks, all_blocks / static_cast<std::uint64_t>(ranks));
  MPI_Barrier(comm);
  const double begin = now_seconds();
  for (const File& file : workload.files) write_with_glean(session, file, options.directory_of(variant) + "/" + file.name);
  const double blocked = now_seconds() - begin;
  session.wait(glean::Level::durable);
  const Times times{max_of(comm, blocked), max_of(comm, now_seconds() - begin)};
  session.close();
  return times;
}

// Of the groups' files one file is made first, by the command beside this program.
void join(const std::string& path) {
  const std::string glean = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "glean";
  if (std::system(("'" + glean + "' join '" + path + "' > /dev/null").c_str()) != 0) throw std::runtime_error("cannot join " + path);
}

std::vector<std::string> differences(const Options& options) {
  std::vector<std::string> different;
  const std::vector<Variant> variants = options.variants();
  for (const auto& entry : std::filesystem::directory_iterator(options.directory_of(variants.front()))) {
    const std::string name = entry.path().filename().string();
    for (const Variant& variant : variants) {
      const std::string file = options.directory_of(variant) + "/" + name;
      if (variant.settings.contains("plan.files")) join(file);
      if (!same_bytes(entry.path().string(), file)) different.push_back(variant.name + ": " + name);
    }
  }
  return different;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("FLASH's files through each mode");
  line.option("--directory", options.directory, "where the files go");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.positive("--repetitions", options.repetitions);
  line.option("--blocks", options.blocks, "blocks of a rank, about");
  line.option("--groups-of-network", options.groups_of_network, "machine file: I/O groups as they are");
  line.option("--groups-of-ranks", options.groups_of_ranks, "machine file: as the ranks come, to compare");
  line.needs("--groups-of-network", "--groups-of-ranks");
  line.flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (options.quick) options.blocks = 2;
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    // As many as can be divided among all ranks, and among all but one.
    const auto count = static_cast<std::uint64_t>(ranks.count());
    if (count < 2) throw std::runtime_error("one rank is set aside: run it on two at least");
    const std::uint64_t all_blocks = (options.blocks + count - 2) / (count - 1) * (count - 1) * count;
    const std::vector<Variant> variants = options.variants();
    std::map<std::string, std::vector<double>> blocked, durable;
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      for (std::size_t turn = 0; turn < variants.size(); ++turn) {
        const Variant& variant = variants[(turn + static_cast<std::size_t>(repetition)) % variants.size()];
        if (ranks.root()) empty_directory(options.directory_of(variant));
        ranks.wait_quietly();
        const Times times = measure(variant, options, all_blocks);
        blocked[variant.name].push_back(times.blocked_seconds);
        durable[variant.name].push_back(times.durable_seconds);
      }
    }
    ranks.wait_quietly();
    if (!ranks.root()) return 0;
    Json results = Json::array();
    const double baseline_blocked = median(blocked[variants.front().name]), baseline_durable = median(durable[variants.front().name]);
    for (const auto& [name, settings] : variants) {
      results.push_back({{"variant", name},
                         {"blocked_seconds", median(blocked[name])},
                         {"durable_seconds", median(durable[name])},
                         {"blocked_shorter_by", baseline_blocked / median(blocked[name])},
                         {"durable_to_reference", median(durable[name]) / baseline_durable},
                         {"each_blocked_seconds", blocked[name]},
                         {"each_durable_seconds", durable[name]}});
    }
    const std::vector<std::string> different = differences(options);
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options.directory_of(variants.front()))) bytes += entry.file_size();
    const Json json = {{"benchmark", "modes"},
                       {"recipe", recipe(ranks, options.directory, options.repetitions)},
                       {"quick", options.quick},
                       {"statement",
                        "medians; blocked: in library calls, from the first open to the last close, slowest rank; durable: "
                        "until everything is fsynced; all write the same bytes"},
                       {"bytes", bytes},
                       {"results", results},
                       {"identical_files", different.empty()},
                       {"different_files", different}};
    std::filesystem::remove_all(options.directory);
    write_json(json, options.json);
    return different.empty() ? 0 : 1;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
