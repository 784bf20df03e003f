// SPDX-License-Identifier: BSD-3-Clause
//
// glean simulate: how long a program would wait for its output on a machine, with each strategy.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/units.hpp"
#include "cli/doing_line.hpp"
#include "cli/simulation_from.hpp"
#include "cli/simulation_output.hpp"
#include "cli/simulation_plots.hpp"
#include "cli/verbs.hpp"
#include "topology/machine_files.hpp"

namespace glean::cli {
namespace {

struct SimulateOptions {
  std::string machine;
  std::string ranks;
  int ranks_per_node = 0;          // 0: one per core
  std::string bytes_per_rank;      // empty: as the pattern says
  std::string pattern = "contiguous";
  int variables = 0;               // 0: as the pattern says
  std::vector<std::string> strategies{"all"};
  std::string to = "storage";
  std::string files = "0", ranks_per_file = "64", stagers = "0", aggregators = "0";
  std::string request = "8MiB", pool = "auto", memory = "auto";
  int steps = 1;
  std::string compute = "0s";
  std::string executor = "fluid";
  std::string sweep;
  std::string plot, timeline;      // files; empty: none
  std::string from, interval;
  std::string format = "text";
};

base::Error wrong(const std::string& what, const std::string& hint) { return {base::Errc::invalid_argument, what, hint}; }

std::int64_t number_of(const std::string& text, const char* option, std::int64_t least) {
  std::int64_t value = 0;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  if (is_number && value >= least && value <= (std::int64_t{1} << 30)) return value;
  throw wrong(fmt::format("{} takes a whole number from {} on, not '{}'", option, least, text), "");
}

// The pattern of a program, or of a file: then --bytes-per-rank says how much.
plan::Request request_of(const SimulateOptions& options) {
  plan::Request request;
  std::vector<std::string> names = {"contiguous", "flash", "s3d"};
  bool known = true;
  if (options.pattern == names[0]) request.pattern = plan::Pattern::contiguous;
  else if (options.pattern == names[1]) request.pattern = plan::Pattern::flash;
  else if (options.pattern == names[2]) request.pattern = plan::Pattern::s3d;
  else known = false;
  for (const simulate::Workload& each : simulate::workloads()) {
    names.emplace_back(each.name);
    if (options.pattern != each.name) continue;
    request.pattern = each.pattern;
    request.variables = each.variables;
    request.bytes_per_rank = each.bytes_per_rank;
    known = true;
  }
  if (!known) {
    throw wrong(fmt::format("unknown pattern '{}'; did you mean '{}'?", options.pattern, base::nearest(options.pattern, names)),
                "glean-simulate(1) describes all patterns");
  }
  if (!options.bytes_per_rank.empty()) request.bytes_per_rank = bytes_of(options.bytes_per_rank, "--bytes-per-rank");
  if (request.bytes_per_rank == 0) {
    throw wrong("how much does each rank write in a step?", "--bytes-per-rank 1MiB, or --pattern flash-checkpoint");
  }
  if (options.variables > 0) request.variables = options.variables;
  return request;
}

simulate::Scenario scenario_of(const SimulateOptions& options) {
  simulate::Scenario scenario;
  const topology::Machine whole = topology::load_machine(options.machine);
  scenario.placement.ranks = number_of(options.ranks, "--ranks", 1);
  scenario.placement.ranks_per_node = options.ranks_per_node > 0 ? options.ranks_per_node : whole.node.cores;
  scenario.machine = topology::partition(whole, scenario.placement.nodes());
  scenario.request = request_of(options);
  if (const std::int64_t fixed = number_of(options.aggregators, "--aggregators", 0); fixed > 0) {
    scenario.limits.aggregators_min = scenario.limits.aggregators_max = static_cast<int>(fixed);
  }
  if (options.memory != "auto") scenario.limits.memory_bytes = bytes_of(options.memory, "--memory");
  scenario.limits.request_bytes = bytes_of(options.request, "--request");
  if (options.pool != "auto") scenario.pool_bytes = bytes_of(options.pool, "--pool");
  scenario.to_io_nodes = options.to == "io-nodes";
  scenario.to_stagers = options.to == "stagers";
  scenario.files = number_of(options.files, "--files", 0);
  scenario.ranks_per_file = number_of(options.ranks_per_file, "--ranks-per-file", 1);
  scenario.stagers = number_of(options.stagers, "--stagers", 0);
  scenario.steps = options.steps;
  const auto seconds = base::parse_seconds(options.compute);
  if (!seconds) throw wrong(fmt::format("--compute takes a time, not '{}'", options.compute), "such as 30s, 500ms, 2min");
  scenario.compute_seconds = *seconds;
  return scenario;
}

// "ranks=4096,8192" or "ranks=1024:65536", which doubles.
struct Sweep {
  std::string varied{};
  std::vector<std::string> values{""};
};

Sweep sweep_of(const std::string& text) {
  if (text.empty()) return {};
  const char* hint = "such as ranks=4096,8192 or stagers=12:96, which doubles; or bytes-per-rank, aggregators, files, ranks-per-file";
  const std::size_t equals = text.find('=');
  Sweep sweep{.varied = text.substr(0, equals), .values = {}};
  const std::vector<std::string> known = {"ranks", "bytes-per-rank", "aggregators", "stagers", "files", "ranks-per-file"};
  if (equals == std::string::npos || std::find(known.begin(), known.end(), sweep.varied) == known.end()) {
    throw wrong(fmt::format("--sweep takes what is varied and its values, not '{}'", text), hint);
  }
  const std::string values = text.substr(equals + 1);
  if (const std::size_t colon = values.find(':'); colon != std::string::npos) {
    const bool is_size = sweep.varied == "bytes-per-rank";
    const auto end_of = [&](const std::string& end) {
      return is_size ? static_cast<std::int64_t>(bytes_of(end, "--sweep")) : number_of(end, "--sweep", 1);
    };
    const std::int64_t first = end_of(values.substr(0, colon)), last = end_of(values.substr(colon + 1));
    if (first < 1 || last < first) throw wrong(fmt::format("--sweep cannot go from {} to {}", first, last), hint);
    for (std::int64_t each = first; each <= last; each *= 2) {
      sweep.values.push_back(is_size ? base::exact_bytes(static_cast<base::Bytes>(each)) : fmt::format("{}", each));
    }
    return sweep;
  }
  for (const std::string& each : CLI::detail::split(values, ',')) sweep.values.push_back(each);
  return sweep;
}

void vary(SimulateOptions& options, const std::string& varied, const std::string& value) {
  if (varied == "ranks") options.ranks = value;
  if (varied == "bytes-per-rank") options.bytes_per_rank = value;
  if (varied == "aggregators") options.aggregators = value;
  if (varied == "stagers") options.stagers = value;
  if (varied == "files") options.files = value;
  if (varied == "ranks-per-file") options.ranks_per_file = value;
}

// "all" leaves out what the machine cannot do; what was named has to be possible.
SimulatedPoint simulated(SimulateOptions options, const std::string& varied, const std::string& value, const DoingLine& doing) {
  vary(options, varied, value);
  const auto tell = [&](std::string_view strategy) {
    doing.show(varied.empty() ? std::string(strategy) : fmt::format("{} {}: {}", varied, value, strategy));
  };
  SimulatedPoint point{.varied = varied, .value = value, .scenario = scenario_of(options)};
  const auto executor = options.executor == "bound" ? simulate::Executor::bound : simulate::Executor::fluid;
  if (options.strategies == std::vector<std::string>{"all"}) {
    for (const simulate::Strategy* each : simulate::strategies()) {
      tell(each->name());
      try {
        point.outcomes.push_back(simulate::simulate(*each, point.scenario, executor));
      } catch (const base::Error& error) {
        point.left_out.push_back(fmt::format("{}: {}", each->name(), error.what()));
      }
    }
    if (point.outcomes.empty()) throw wrong(point.left_out.front(), "no strategy can do this");
    return point;
  }
  for (const std::string& each : options.strategies) {
    tell(each);
    point.outcomes.push_back(simulate::simulate(simulate::strategy_named(each), point.scenario, executor));
  }
  return point;
}

void run_simulation(const SimulateOptions& options) {
  const Sweep sweep = sweep_of(options.sweep);
  std::vector<SimulatedPoint> points;
  {
    const DoingLine doing("glean simulate");
    for (const std::string& value : sweep.values) points.push_back(simulated(options, sweep.varied, value, doing));
  }
  if (!options.plot.empty()) write_picture(options.plot, plot_of(points));
  if (!options.timeline.empty()) write_picture(options.timeline, timeline_of(points));
  if (options.format == "json") std::cout << to_json(points).dump(2) << '\n';
  else if (options.format == "csv") std::cout << to_csv(points);
  else std::cout << to_text(points);
}

void list_strategies() {
  for (const simulate::Strategy* each : simulate::strategies()) std::cout << fmt::format("{:<24}{}\n", each->name(), each->summary());
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<SimulateOptions>();
  const auto list = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("simulate", "Say how long a program would wait for its output on a machine");
  verb->add_option("--machine", options->machine, "Name of a machine, or the path of its file");
  verb->add_option("--ranks", options->ranks, "Ranks of the program");
  verb->add_option("--ranks-per-node", options->ranks_per_node, "Default: one for each core")->check(WholeNumber(1));
  verb->add_option("--pattern", options->pattern, "What is written: contiguous, flash, s3d; or of a program: flash-checkpoint, …")
      ->capture_default_str();
  verb->add_option("--bytes-per-rank", options->bytes_per_rank, "What each rank writes in a step; default: as the pattern says");
  verb->add_option("--variables", options->variables, "That a step consists of; default: as the pattern says")->check(WholeNumber(1));
  verb->add_option("--strategy", options->strategies, "all, or some of those that --list shows")->delimiter(',')->capture_default_str();
  verb->add_flag("--list", *list, "Show the strategies");
  verb->add_option("--to", options->to, "Where the data end")
      ->check(CLI::IsMember({"storage", "io-nodes", "stagers"}))
      ->capture_default_str();
  verb->add_option("--files", options->files, "That a step becomes; default: as the strategy has them");
  verb->add_option("--ranks-per-file", options->ranks_per_file, "Of coio and rbio")->capture_default_str();
  verb->add_option("--stagers", options->stagers, "Default: the machine's staging nodes; with --from the fewest that are enough");
  verb->add_option("--aggregators", options->aggregators, "Of an I/O group; default: as the plan chooses");
  verb->add_option("--memory", options->memory, "Of an aggregator, for what it gathers; auto: a sixteenth of its node's")
      ->capture_default_str();
  verb->add_option("--request", options->request, "Size of a write, at most")->capture_default_str();
  verb->add_option("--pool", options->pool, "Of a node; auto: a quarter of its memory")->capture_default_str();
  verb->add_option("--steps", options->steps, "That are written")->check(WholeNumber(1))->capture_default_str();
  verb->add_option("--compute", options->compute, "Time that the program computes before each step")->capture_default_str();
  verb->add_option("--executor", options->executor, "fluid: max-min fair; bound: no schedule is faster")
      ->check(CLI::IsMember({"fluid", "bound"}))
      ->capture_default_str();
  verb->add_option("--plot", options->plot, "Write a picture of what is swept, or of the strategies: a file .svg or .png");
  verb->add_option("--timeline", options->timeline, "Write a picture of what each strategy does when: a file .svg or .png");
  auto* from = verb->add_option("--from", options->from, "Of a run its report: says what each mode, stagers and stripes would do");
  verb->add_option("--interval", options->interval, "Between steps, with --from; default: as in the run")->needs(from);
  verb->add_option("--sweep", options->sweep, "Several values of one thing: ranks=1024:65536 (doubling), stagers=12,24,36");
  verb->add_option("--format", options->format, "How it is printed")->check(CLI::IsMember({"text", "csv", "json"}))->capture_default_str();
  verb->footer("Exit code: 0, or 2 where it cannot be simulated.");
  verb->callback([options, list, &exit_code] {
    if (*list) {
      list_strategies();
    } else if (!options->from.empty()) {
      if (options->format == "csv") throw wrong("--from has no CSV", "--format json");
      if (!(options->sweep + options->plot + options->timeline).empty()) {
        throw wrong("--sweep, --plot and --timeline do not go with --from", "glean report --html shows plots of a run");
      }
      if (options->machine.empty()) throw wrong("on which machine?", "--machine intrepid, or a file that glean calibrate has written");
      simulate_from({.report = options->from, .machine = options->machine, .ranks = options->ranks,
                     .ranks_per_node = options->ranks_per_node,
                     .stagers = number_of(options->stagers, "--stagers", 0), .interval = options->interval, .format = options->format});
    } else {
      const bool sweeps_ranks = options->sweep.starts_with("ranks=");
      if (options->machine.empty()) throw wrong("on which machine?", "--machine intrepid, or the path of a machine file");
      if (options->ranks.empty() && !sweeps_ranks) throw wrong("with how many ranks?", "--ranks 4096");
      run_simulation(*options);
    }
    exit_code = success;
  });
}

}  // namespace glean::cli
