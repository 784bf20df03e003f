// SPDX-License-Identifier: BSD-3-Clause
//
// glean plan: what would be done on a machine, and why.
#include "plan/plan.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/plan_json.hpp"
#include "cli/verbs.hpp"
#include "plan/explain.hpp"
#include "topology/machine_files.hpp"

namespace glean::cli {
namespace {

struct PlanOptions {
  std::string machine;
  std::int64_t ranks = 0;
  int ranks_per_node = 0;   // 0: one per core
  std::string order = "block";
  std::string bytes_per_rank;
  std::vector<std::string> exceptions;
  std::string pattern = "contiguous";
  std::string to = "storage";
  std::string memory = "auto";
  std::string request = "8MiB";
  int variables = 1;
  std::int64_t files = 0;
  int aggregators_min = 1, aggregators_max = 64;
  std::int64_t group = 0;
  bool explain = false;
  std::string format = "text";
};

constexpr std::int64_t ranks_max = 1 << 30;

// "8-15=0B", "0=1GiB"
plan::RankRun exception_of(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return base::Error(base::Errc::invalid_argument, fmt::format("--except takes ranks and a size, not '{}': {}", text, why),
                       "such as --except 0=1GiB --except 8-15=0B");
  };
  const auto rank = [&](std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = error == std::errc{} && end == digits.data() + digits.size();
    if (!is_whole || value < 0 || value > ranks_max) {
      throw wrong(fmt::format("'{}' is no rank, which are whole numbers from 0 on", digits));
    }
    return value;
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw wrong("it has no =");
  const std::string ranks = text.substr(0, equals), size = text.substr(equals + 1);
  const std::size_t dash = ranks.find('-', 1);
  const std::int64_t first = rank(std::string_view(ranks).substr(0, dash));
  const std::int64_t last = dash == std::string::npos ? first : rank(std::string_view(ranks).substr(dash + 1));
  if (last < first) throw wrong(fmt::format("rank {} does not come behind rank {}", last, first));
  const auto bytes = base::parse_bytes(size);
  if (!bytes) throw wrong(size.empty() ? "there is no size behind the =" : fmt::format("'{}' is no size", size));
  return {first, last - first + 1, *bytes};
}

plan::Request request_of(const PlanOptions& options) {
  plan::Request request;
  request.bytes_per_rank = bytes_of(options.bytes_per_rank, "--bytes-per-rank");
  for (const std::string& each : options.exceptions) request.exceptions.push_back(exception_of(each));
  request.pattern = options.pattern == "s3d"     ? plan::Pattern::s3d
                    : options.pattern == "flash" ? plan::Pattern::flash
                                                 : plan::Pattern::contiguous;
  request.variables = options.variables;
  request.files = options.files;
  request.sink = options.to == "stagers" ? plan::Sink::stagers : plan::Sink::storage;
  return request;
}

plan::Limits limits_of(const PlanOptions& options) {
  plan::Limits limits;
  limits.aggregators_min = options.aggregators_min;
  limits.aggregators_max = options.aggregators_max;
  limits.memory_bytes = options.memory == "auto" ? 0 : bytes_of(options.memory, "--memory");
  limits.request_bytes = bytes_of(options.request, "--request");
  return limits;
}

void make_plan(const PlanOptions& options) {
  // What is wrong with the options themselves comes first.
  const plan::Request request = request_of(options);
  const plan::Limits limits = limits_of(options);
  const topology::Machine whole = topology::load_machine(options.machine);
  topology::Placement placement;
  placement.ranks = options.ranks;
  placement.ranks_per_node = options.ranks_per_node > 0 ? options.ranks_per_node : whole.node.cores;
  placement.order = options.order == "block" ? topology::Placement::Order::block : topology::Placement::Order::round_robin;
  const topology::Machine machine = topology::partition(whole, placement.nodes());
  if (options.format == "dot") {
    std::cout << plan::to_dot(machine, plan::plan_group(machine, placement, request, limits, options.group));
    return;
  }
  const plan::Plan plan = plan::plan(machine, placement, request, limits);
  if (options.format == "json") {
    std::cout << to_json(machine, placement, request, plan).dump(2) << '\n';
    return;
  }
  std::cout << plan::summary(machine, placement, request, plan);
  if (options.explain) std::cout << '\n' << plan::explain(plan.choice);
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = app.add_subcommand("plan", "Say which ranks would gather and write what on a machine, and why");
  verb->add_option("--machine", options->machine, "Name of a machine, or the path of its file")->required();
  verb->add_option("--ranks", options->ranks, "Ranks of the program")->required()->check(CLI::Range(std::int64_t{1}, ranks_max));
  verb->add_option("--ranks-per-node", options->ranks_per_node, "Default: one for each core")->check(WholeNumber(1));
  verb->add_option("--order", options->order, "How ranks are placed on nodes")
      ->check(CLI::IsMember({"block", "round-robin"}))
      ->capture_default_str();
  verb->add_option("--bytes-per-rank", options->bytes_per_rank, "What each rank writes in a step, such as 1MiB")->required();
  verb->add_option("--except", options->exceptions, "Ranks that write something else: 0=1GiB, 8-15=0B");
  verb->add_option("--pattern", options->pattern, "How the ranks' data lie in the file")
      ->check(CLI::IsMember({"contiguous", "flash", "s3d"}))
      ->capture_default_str();
  verb->add_option("--variables", options->variables, "That a step consists of")->check(WholeNumber(1))->capture_default_str();
  verb->add_option("--files", options->files, "How many; default: as many as are best")->check(WholeNumber(1));
  verb->add_option("--to", options->to, "Where the data go")->check(CLI::IsMember({"storage", "stagers"}))->capture_default_str();
  verb->add_option("--min-aggregators", options->aggregators_min, "Of a group, at least")
      ->check(WholeNumber(1))
      ->capture_default_str();
  verb->add_option("--max-aggregators", options->aggregators_max, "Of a group, at most")
      ->check(WholeNumber(1))
      ->capture_default_str();
  verb->add_option("--memory", options->memory, "Of an aggregator, for what it gathers; auto: a sixteenth of its node's")
      ->capture_default_str();
  verb->add_option("--request", options->request, "Size of a write, at most")->capture_default_str();
  verb->add_option("--group", options->group, "Which group --format dot draws")
      ->check(WholeNumber(0))
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Print everything that was weighed, and why the chosen one was");
  verb->add_option("--format", options->format, "dot: a graph of one group")
      ->check(CLI::IsMember({"text", "json", "dot"}))
      ->capture_default_str();
  verb->footer("Exit code: 0, or 2 where it cannot be planned.");
  verb->callback([options, &exit_code] {
    make_plan(*options);
    exit_code = success;
  });
}

}  // namespace glean::cli
