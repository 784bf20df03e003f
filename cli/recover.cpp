// SPDX-License-Identifier: BSD-3-Clause
//
// glean recover: completes what killed jobs have left in this node's memory.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/verbs.hpp"
#include "drain/recovery.hpp"
#include "pool/pool.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  bool dry_run = false;
  bool discard = false;
  bool json = false;
  std::vector<std::string> pools;
};

// What became of a pool.
struct Result {
  drain::Remains found;
  std::vector<drain::OutputTrace> outputs;
  std::string state;     // found, recovered, discarded, in use, unfinished
  std::string problem;
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string count(std::uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string age_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return seconds < 172'800 ? fmt::format("{:.0f} h", seconds / 3600) : fmt::format("{:.0f} days", seconds / 86'400);
}

std::string describe(const drain::RemainingOutput& output) {
  if (!output.problem.empty()) return output.problem;
  std::string text = count(output.steps_complete, "complete step");
  if (!output.ranks_behind.empty()) {
    text += fmt::format(", step {} not ended by rank{} {}", output.steps_complete,
                        output.ranks_behind.size() == 1 ? "" : "s", fmt::join(output.ranks_behind, ", "));
  }
  if (!output.closed) text += ", not closed";
  return text + fmt::format(", {} wait", base::readable_bytes(output.waiting_bytes));
}

const drain::OutputTrace* outcome_of(const Result& result, const drain::RemainingOutput& output) {
  for (const auto& trace : result.outputs) {
    if (trace.path == output.path) return &trace;
  }
  return nullptr;
}

// Complete steps that are in no file.
bool is_lost(const Result& result, const drain::RemainingOutput& output) {
  const auto* outcome = outcome_of(result, output);
  return outcome != nullptr && outcome->state == "failed" && output.problem.empty();
}

void print(const Result& result) {
  const drain::Remains& found = result.found;
  std::cout << fmt::format("{} on {}: {}, {}, {} old\n", found.pool.substr(1), host_name(),
                           found.job.empty() ? "unknown job" : found.job, base::readable_bytes(found.pool_bytes),
                           age_text(found.age_seconds));
  for (const auto& output : found.outputs) {
    const std::string path = output.final_path.empty() ? "(unnamed)" : output.final_path;
    const auto* outcome = outcome_of(result, output);
    std::cout << fmt::format("  {}: {}", path, describe(output));
    if (outcome != nullptr && outcome->state == "published") {
      std::cout << fmt::format(" → published with {}", count(outcome->steps, "step"));
    } else if (outcome != nullptr) {
      std::cout << " → " << (outcome->state == "postponed" ? "not completed: " + outcome->note :
                             is_lost(result, output) ? "LOST: " + outcome->note :
                             outcome->state == "superseded" ? "removed: " + outcome->note : "removed");
    } else if (result.state == "discarded") {
      std::cout << " → discarded";
    }
    std::cout << '\n';
  }
  if (found.outputs.empty() && result.problem.empty()) std::cout << "  no unfinished output\n";
  if (!result.problem.empty()) std::cout << "  " << result.problem << '\n';
}

ordered_json to_json(const Result& result) {
  ordered_json outputs = ordered_json::array();
  for (const auto& output : result.found.outputs) {
    const auto* outcome = outcome_of(result, output);
    outputs.push_back({{"path", output.path},
                       {"final_path", output.final_path},
                       {"steps_complete", output.steps_complete},
                       {"steps_begun", output.steps_begun},
                       {"ranks_behind", output.ranks_behind},
                       {"closed", output.closed},
                       {"waiting_bytes", output.waiting_bytes},
                       {"problem", output.problem},
                       {"state", outcome != nullptr ? outcome->state : result.state},
                       {"steps", outcome != nullptr ? ordered_json(outcome->steps) : ordered_json(nullptr)},
                       {"note", outcome != nullptr ? outcome->note : ""}});
  }
  const drain::Remains& found = result.found;
  return {{"pool", found.pool},       {"host", host_name()},     {"job", found.job},
          {"age_seconds", found.age_seconds}, {"bytes", found.pool_bytes}, {"ranks", found.ranks},
          {"in_use_by", found.in_use_by},     {"state", result.state},     {"problem", result.problem},
          {"outputs", outputs}};
}

Result treat(const std::string& pool, const Options& options, store::SystemCalls& calls) {
  Result result{drain::look_at(pool), {}, "found", {}};
  if (result.found.in_use_by != 0) {
    result.state = "in use";
    result.problem = fmt::format("the pool '{}' is in use by process {}", pool, result.found.in_use_by);
    return result;
  }
  result.problem = result.found.problem;
  if (options.dry_run) return result;
  try {
    if (options.discard) {
      drain::discard(pool, calls);
      result.state = "discarded";
      result.problem.clear();
      return result;
    }
    int seconds = 0;
    auto recovered = drain::recover(pool, calls, [&] {
      if (++seconds % 10 == 0) std::cerr << fmt::format("glean: still writing what is in {} ({} s)\n", pool.substr(1), seconds);
    });
    result.outputs = std::move(recovered.outputs);
    result.state = recovered.pool_removed ? "recovered" : "unfinished";
    result.problem = recovered.pool_removed ? "" : "the rest stays in memory: mend what is wrong, and run this again";
  } catch (const base::Error& error) {
    // Another one was quicker, or it cannot be read.
    const bool busy = error.code() == base::Errc::invalid_state || error.code() == base::Errc::not_found;
    result.state = busy ? "in use" : "unfinished";
    result.problem = std::string(error.what()) + (busy ? "" : "; --discard removes it");
  }
  return result;
}

std::vector<std::string> chosen_pools(const Options& options) {
  if (options.pools.empty()) return drain::pool_names();
  std::vector<std::string> names;
  for (const std::string& name : options.pools) {
    names.push_back(name.starts_with('/') ? name : "/" + name);
    static_cast<void>(pool::Pool::process_using(names.back()));   // throws where there is none
  }
  return names;
}

int recover(const Options& options) {
  store::SystemCalls calls;
  std::vector<Result> results;
  bool all_done = true;
  for (const std::string& pool : chosen_pools(options)) {
    Result result = treat(pool, options, calls);
    if (!options.pools.empty() && result.state == "in use") {
      throw base::Error(base::Errc::invalid_state, result.problem);
    }
    all_done &= result.state != "unfinished";
    for (const auto& output : result.found.outputs) all_done &= !is_lost(result, output);
    results.push_back(std::move(result));
  }
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const Result& result : results) list.push_back(to_json(result));
    std::cout << ordered_json{{"pools", list}}.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    return all_done ? success : found_a_failure;
  }
  bool any = false;
  for (const Result& result : results) {
    if (result.state == "in use") continue;
    any = true;
    print(result);
  }
  if (!any) std::cout << "nothing to recover\n";
  return all_done ? success : found_a_failure;
}

}  // namespace

void add_recover(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("recover", "Complete what killed jobs have left in this node's memory");
  verb->add_option("POOL", options->pools, "Only these, by name (default: all that no process uses)");
  auto* dry_run = verb->add_flag("--dry-run", options->dry_run, "Only say what is there");
  verb->add_flag("--discard", options->discard, "Remove what is there, with the data")->excludes(dry_run);
  verb->add_flag("--json", options->json, "Print JSON");
  verb->footer("Exit code: 0, also when there is nothing; 1 when something that was complete is not in its file;\n"
               "2 when the command line is wrong, or a named pool is in use or not there.\n"
               "A job of several nodes: mpirun --map-by ppr:1:node glean recover");
  verb->callback([options, &exit_code] { exit_code = recover(*options); });
}

}  // namespace glean::cli
