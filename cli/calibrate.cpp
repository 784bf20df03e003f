// SPDX-License-Identifier: BSD-3-Clause
//
// glean calibrate: measures what a machine file needs, on the machine that it runs on.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/machine_file.hpp"
#include "calibrate/memory.hpp"
#include "calibrate/scratch.hpp"
#include "calibrate/seconds_now.hpp"
#include "calibrate/storage.hpp"
#include "cli/calibration_network.hpp"
#include "cli/companions.hpp"
#include "cli/doing_line.hpp"
#include "cli/text_file.hpp"
#include "cli/verbs.hpp"
#include "topology/discover/machine.hpp"

namespace glean::cli {
namespace {

using calibrate::Calibration;

struct CalibrateOptions {
  std::string directory = ".";
  std::string duration = "20s";
  std::string output;            // empty: standard output
  std::string name;              // empty: the host's
  topology::NodeId nodes = 0;    // 0: as many as it runs on
};

base::Error refusal(const std::string& what, const std::string& hint) { return {base::Errc::invalid_argument, what, hint}; }

// A machine that is busy or slow takes longer for each measurement than it should: those that come late are left out.
class Deadline {
 public:
  Deadline(calibrate::Team& team, double seconds) : team_(team), end_(calibrate::seconds_now() + seconds) {}
  // The first process says it for all. Collective.
  [[nodiscard]] bool leaves_out(calibrate::Figure& figure) const {
    const bool is_over = calibrate::numbers_of_all(team_, calibrate::seconds_now() > end_ ? 1 : 0).front() > 0;
    if (is_over) figure.how = "left out: the measurements before have taken three times as long as they should";
    return is_over;
  }

 private:
  calibrate::Team& team_;
  double end_;
};

// Where each process is, by the order in which hosts come.
struct Places {
  std::vector<int> host_of;
  int hosts = 0;
  int cores = 0;   // of the first host, that its processes may use together: launchers bind each to its own
};

Places places_of(calibrate::Team& team, const topology::Node& node) {
  std::string mine = node.host_name;
  for (const int core : node.cores) mine += fmt::format(" {}", core);
  std::vector<std::string> names;
  Places places;
  std::set<int> cores;
  for (const std::string& each : team.from_all(mine)) {
    std::istringstream words(each);
    std::string name;
    words >> name;
    const auto known = std::find(names.begin(), names.end(), name);
    places.host_of.push_back(static_cast<int>(known - names.begin()));
    if (known == names.end()) names.push_back(name);
    for (int core = 0; places.host_of.back() == 0 && words >> core;) cores.insert(core);
  }
  places.hosts = static_cast<int>(names.size());
  places.cores = std::max<int>(1, static_cast<int>(cores.size()));
  return places;
}

// The same directory for all processes: the first makes it, the others have to see it. Collective.
std::unique_ptr<calibrate::Scratch> scratch_of(calibrate::Team& team, const std::string& directory) {
  std::unique_ptr<calibrate::Scratch> scratch;
  std::string path;
  if (team.self() == 0) {
    path = (std::filesystem::absolute(directory) / fmt::format("glean-calibrate.{}", getpid())).string();
    scratch = std::make_unique<calibrate::Scratch>(path);
  }
  path = team.from_all(path).front();
  std::error_code ignored;
  const std::vector<double> see_it = calibrate::numbers_of_all(team, std::filesystem::is_directory(path, ignored) ? 1 : 0);
  if (const auto blind = std::count(see_it.begin(), see_it.end(), 0.0); blind > 0) {
    scratch.reset();
    throw refusal(fmt::format("{} of {} processes do not see the directory '{}'", blind, see_it.size(), directory),
                "name one of a file system that all nodes have");
  }
  if (!scratch) scratch = std::make_unique<calibrate::Scratch>(path);
  return scratch;
}

// All processes copy at once, or as many threads of the only one as it has cores.
void measure_memory(calibrate::Team& team, const Places& places, double seconds, Calibration& calibration) {
  if (team.self() == 0) calibration.copy_rate = calibrate::copy_rate(seconds / 2);   // the others wait
  calibration.copy_rate.how = "one core, 64 MiB whose pages are there";
  const int threads = team.count() == 1 ? places.cores : 1;
  constexpr int samples = 3;
  for (int i = 0; i < samples; ++i) {
    static_cast<void>(team.from_all(""));
    const std::vector<double> rates = calibrate::numbers_of_all(team, calibrate::copied_per_second(threads, seconds / 2 / samples));
    double of_host = 0;
    for (std::size_t each = 0; each < rates.size(); ++each) of_host += places.host_of[each] == 0 ? rates[each] : 0;
    calibration.memory_rate.samples.push_back(of_host);
  }
  const auto copying = std::count(places.host_of.begin(), places.host_of.end(), 0) * threads;
  calibration.memory_rate.how = fmt::format("{} copy at once on this host", copying);
}

void measure_rates(calibrate::Team& team, calibrate::Scratch& scratch, const Places& places, double seconds, const Deadline& deadline,
                   const DoingLine& progress, Calibration& calibration) {
  using calibrate::Writing;
  const bool is_alone = team.count() == 1;
  const base::Bytes free = std::filesystem::space(scratch.directory()).available;
  const int threads = is_alone ? std::clamp(places.cores, 2, 4) : 1;
  const auto writers = static_cast<base::Bytes>(team.count() * threads);
  Writing writing{.seconds = seconds / 4 / 3, .samples = 3};
  writing.bytes_max = std::clamp(free / 4 / writers, writing.request_bytes, writing.bytes_max);
  if (free < 4 * writers * writing.request_bytes) {
    throw refusal(fmt::format("'{}' has only {} left", scratch.directory(), base::readable_bytes(free)), "calibrate where there is room");
  }
  progress.show("files, one writer");
  calibration.one_writer = calibrate::write_rate(team, scratch, team.self() == 0, writing);
  calibration.one_writer.how = "1 writer, requests of 8 MiB past the page cache, fdatasync at the end";
  writing.threads = threads;
  progress.show("files, the writers of one host");
  const bool is_on_first = places.host_of[static_cast<std::size_t>(team.self())] == 0;
  const auto on_first = std::count(places.host_of.begin(), places.host_of.end(), 0);
  if (!deadline.leaves_out(calibration.node_writers)) {
    calibration.node_writers = calibrate::write_rate(team, scratch, is_on_first, writing);
    calibration.node_writers.how = fmt::format("{} writers on 1 host, a file each, the same way", on_first * threads);
  }
  if (places.hosts > 1 && !deadline.leaves_out(calibration.all_writers)) {
    progress.show("files, all writers");
    calibration.all_writers = calibrate::write_rate(team, scratch, true, writing);
    calibration.all_writers.how = fmt::format("{} writers on {} hosts, a file each, the same way", team.count(), places.hosts);
  } else if (places.hosts == 1) {
    calibration.all_writers.how = "the same: one host";
  }
  if (deadline.leaves_out(calibration.page_cache)) return;
  progress.show("files, through the page cache");
  writing.how = Writing::How::through_page_cache;
  writing.threads = 1;
  writing.bytes_max = std::min<base::Bytes>(writing.bytes_max, 64 * base::MiB);
  calibration.page_cache = calibrate::write_rate(team, scratch, team.self() == 0, writing);
  calibration.page_cache.how = "1 writer";
}

void measure_times(calibrate::Team& team, calibrate::Scratch& scratch, const Places& places, double seconds, const Deadline& deadline,
                   const DoingLine& progress, Calibration& calibration) {
  progress.show("requests");
  if (!deadline.leaves_out(calibration.request_time) && team.self() == 0) {
    calibration.request_time = calibrate::write_seconds(scratch, 4096, seconds * 0.4);
    for (double& each : calibration.request_time.samples) {
      each = calibrate::request_seconds(each, 4096, calibration.one_writer.median());
    }
    calibration.request_time.how = "requests of 4 KiB past the page cache, less the time of their bytes";
  }
  static_cast<void>(team.from_all(""));
  progress.show("creating files");
  if (!deadline.leaves_out(calibration.create_time)) {
    calibration.create_time = calibrate::create_seconds(team, scratch, seconds * 0.2);
    calibration.create_time.how = "1 client, one file after the other";
  }
  if (team.count() > 1 && !deadline.leaves_out(calibration.directory_create_time)) {
    calibration.directory_create_time = calibrate::create_seconds_together(team, scratch, seconds * 0.2);
    calibration.directory_create_time.how = fmt::format("{} clients in one directory", team.count());
  } else if (team.count() == 1) {
    calibration.directory_create_time.how = "one process: start several with mpirun";
  }
  if (places.hosts > 1 && !deadline.leaves_out(calibration.lock_time)) {
    progress.show("locks of a shared file");
    calibration.lock_time = calibrate::lock_seconds(team, scratch, seconds * 0.2);
    calibration.lock_time.how = fmt::format("requests of 64 KiB by turns of {} clients, less the same in files of their own", team.count());
  } else if (places.hosts == 1) {
    calibration.lock_time.how = "one host: clients of a file system do not meet there";
  }
}

void set_nodes(topology::Machine& machine, topology::NodeId nodes) {
  machine.network = topology::FatTree{.nodes = nodes, .levels = {{.down = static_cast<int>(nodes)}}};
}

void describe(const CalibrateOptions& options, const topology::RunningMachine& found, const Places& places, Calibration& calibration) {
  topology::Machine& machine = calibration.discovered = found.machine;
  const topology::NodeId nodes = options.nodes > 0 ? options.nodes : places.hosts;
  if (options.nodes > 0 || machine.nodes() < places.hosts) set_nodes(machine, nodes);
  machine.name = options.name.empty() ? found.node.host_name : options.name;
  machine.description = fmt::format("measured on {} host{}", places.hosts, places.hosts == 1 ? "" : "s");
  if (options.nodes > places.hosts) {
    machine.description += "; the network to the others is taken to be one switch, the file system to give them no more";
  }
  machine.node.cores = places.cores;
  calibration.hosts = places.hosts;
  calibration.processes = static_cast<int>(places.host_of.size());
}

void put_out(const CalibrateOptions& options, const std::string& text) {
  if (options.output.empty()) {
    std::cout << text << std::flush;
    return;
  }
  try {
    write_text_file(options.output, text);
  } catch (const base::Error&) {
    std::cout << text << std::flush;   // it has taken its time
    throw;
  }
}

int run_calibration(const CalibrateOptions& options, service::Companions& companions, double seconds) {
  const auto team = team_of(companions);
  const topology::RunningMachine found = topology::discover_machine(options.directory);
  const Places places = places_of(*team, found.node);
  const auto scratch = scratch_of(*team, options.directory);
  Calibration calibration;
  describe(options, found, places, calibration);
  {
    const DoingLine progress("glean calibrate", team->self() == 0);
    const Deadline deadline(*team, seconds * 3);
    progress.show("memory");
    measure_memory(*team, places, seconds * 0.08, calibration);
    progress.show("network");
    measure_network(*team, places.host_of, seconds * 0.15, calibration);
    measure_rates(*team, *scratch, places, seconds * 0.52, deadline, progress, calibration);
    measure_times(*team, *scratch, places, seconds * 0.25, deadline, progress, calibration);
  }
  const std::time_t when = std::time(nullptr);
  if (team->self() == 0) put_out(options, to_toml(calibration, fmt::format("{:%Y-%m-%d %H:%M UTC}", fmt::gmtime(when))));
  return success;
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* verb = app.add_subcommand("calibrate", "Measure this machine and write a machine file");
  verb->add_option("DIRECTORY", options->directory, "Where files are written to measure the file system")->capture_default_str();
  verb->add_option("--duration", options->duration, "About what it takes, from 1s to 1h")->capture_default_str();
  verb->add_option("--output", options->output, "File to write; default: standard output");
  verb->add_option("--name", options->name, "Of the machine; default: the name of the first host");
  verb->add_option("--nodes", options->nodes, "That the machine has; default: the hosts that it runs on")->check(WholeNumber(1));
  verb->footer("On several nodes: mpirun --map-by ppr:2:node glean calibrate /scratch/me --nodes 512 --output my-cluster.toml\n"
               "Exit code: 0, or 2 where it cannot be measured.");
  verb->callback([options, &exit_code] {
    const auto seconds = base::parse_seconds(options->duration);
    if (!seconds || *seconds < 1 || *seconds > 3600) {
      throw refusal(fmt::format("--duration takes a time from 1s to 1h, not '{}'", options->duration), "such as 20s or 2min");
    }
    const auto work = [&](service::Companions& companions, const std::string& why_alone) {
      if (!why_alone.empty()) throw refusal(why_alone, "each process would measure for itself, in the way of the others");
      return run_calibration(*options, companions, *seconds);
    };
    exit_code = with_companions(true, work, "calibrate");
  });
}

}  // namespace glean::cli
