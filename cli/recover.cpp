// SPDX-License-Identifier: BSD-3-Clause
//
// glean recover: completes what killed jobs have left in this node's memory.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/companions.hpp"
#include "cli/rank_files.hpp"
#include "cli/verbs.hpp"
#include "drain/retired_files.hpp"
#include "service/recover_pools.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

struct RecoverOptions : service::RecoverRequest {
  bool json = false;
  std::string wait;   // a duration; empty: not at all
};

using Result = service::PoolResult;

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

std::string describe(const service::RemainingOutput& output) {
  if (!output.problem.empty()) return output.problem;
  const std::string waits = fmt::format(", {} wait", base::readable_bytes(output.waiting_bytes));
  const std::string behind = base::readable_ranks(output.ranks_behind);
  if (output.is_bytes && output.closed) return "closed" + waits;
  if (output.is_bytes && output.in_place) return "written in place, not closed by " + behind + waits;
  if (output.is_bytes) return "not closed by " + behind + ", synchronized" + waits;
  std::string text = count(output.steps_complete, "complete step");
  if (!output.ranks_behind.empty()) text += fmt::format(", step {} not ended by {}", output.steps_complete, behind);
  if (!output.closed) text += ", not closed";
  return text + waits;
}

const drain::OutputTrace* outcome_of(const Result& result, const service::RemainingOutput& output) {
  for (const auto& trace : result.outputs) {
    if (trace.path == output.path) return &trace;
  }
  return nullptr;
}

// Complete steps that are in no file.
bool is_lost(const Result& result, const service::RemainingOutput& output) {
  const auto* outcome = outcome_of(result, output);
  return outcome != nullptr && outcome->state == "failed" && outcome->had_complete_steps && output.problem.empty();
}

void print(const Result& result) {
  const service::Remains& found = result.found;
  const std::string node = found.nodes > 1 ? fmt::format(", node {} of {}", found.node, found.nodes) : "";
  std::cout << fmt::format("{} on {}: {}{}, {}, {} old\n", found.pool.substr(1), host_name(),
                           found.job.empty() ? "unknown job" : found.job, node, base::readable_bytes(found.pool_bytes),
                           age_text(found.age_seconds));
  for (const auto& output : found.outputs) {
    const std::string path = output.final_path.empty() ? "(unnamed)" : output.final_path;
    const auto* outcome = outcome_of(result, output);
    const bool is_beside = outcome != nullptr && !outcome->unclosed_path.empty() && outcome->unclosed_path != output.final_path;
    std::cout << fmt::format("  {}: {}", path, describe(output));
    if (outcome != nullptr && outcome->state == "published") {
      if (!output.is_bytes) std::cout << fmt::format(" → published with {}", count(outcome->steps, "step"));
      else if (!output.closed && output.in_place) std::cout << " → all that was captured is in it";
      else std::cout << " → published" << (is_beside ? " as " + outcome->unclosed_path : "");
    } else if (outcome != nullptr) {
      std::cout << " → " << (outcome->state == "postponed" ? "not completed: " + outcome->note :
                             is_lost(result, output) ? "LOST: " + outcome->note :
                             !outcome->unclosed_path.empty() ? "what was synchronized is in " + outcome->unclosed_path :
                             outcome->state == "superseded" ? "removed: " + outcome->note :
                             outcome->state == "dropped" ? "removed: all of its steps were dropped" : "removed");
    } else if (result.state == "discarded") {
      std::cout << " → discarded";
    }
    std::cout << '\n';
  }
  for (const std::string& path : result.restored) std::cout << fmt::format("  {}: removed by the program; it is there again\n", path);
  for (const std::string& path : result.hidden) {
    std::cout << fmt::format("  {}: a file that the program has replaced; it stays under this name\n", path);
  }
  if (found.outputs.empty() && result.problem.empty()) std::cout << "  no unfinished output\n";
  if (!result.problem.empty()) std::cout << "  " << result.problem << '\n';
}

// Of a job that is at work, or that another process completes.
void print_in_use(const Result& result) {
  const service::Remains& found = result.found;
  const std::string user = found.in_use_by > 0 ? fmt::format("in use by process {}", found.in_use_by)
                           : found.in_use_by < 0 ? "in use by a process of another container" : "another process completes it";
  std::cout << fmt::format("{} on {}: {}, {}\n", found.pool.substr(1), host_name(), found.job.empty() ? "unknown job" : found.job, user);
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
                       {"synchronized", output.synchronized},
                       {"waiting_bytes", output.waiting_bytes},
                       {"problem", output.problem},
                       {"state", outcome != nullptr ? outcome->state : result.state},
                       {"steps", outcome != nullptr ? ordered_json(outcome->steps) : ordered_json(nullptr)},
                       {"unclosed_path", outcome != nullptr ? outcome->unclosed_path : ""},
                       {"note", outcome != nullptr ? outcome->note : ""}});
  }
  const service::Remains& found = result.found;
  return {{"pool", found.pool},       {"host", host_name()},     {"job", found.job},
          {"age_seconds", found.age_seconds}, {"bytes", found.pool_bytes}, {"ranks", found.ranks},
          {"nodes", found.nodes}, {"node", found.node},
          {"in_use_by", found.in_use_by}, {"state", result.state},     {"problem", result.problem},
          {"restored", result.restored}, {"hidden", result.hidden}, {"outputs", outputs}};
}

constexpr char as_long_as_it_takes[] = "unlimited";

// Files that jobs have removed or replaced, and whose pools are gone: they get their names back.
void restore_in(const std::vector<std::string>& directories, store::SystemCalls& calls) {
  for (const std::string& directory : directories) {
    const drain::Retired retired = drain::restore_in(directory, calls, drain::OfHosts::any);
    for (const std::string& path : retired.restored) {
      std::cout << fmt::format("{}: removed by a job that is gone; it is there again\n", path);
    }
    for (const std::string& path : retired.hidden) {
      std::cout << fmt::format("{}: stays under this name, because another file has its own\n", path);
    }
  }
}

int recover(const RecoverOptions& options, service::Companions& companions, const std::string& why_alone) {
  store::SystemCalls calls;
  const auto tell = [](const std::string& text) { std::cerr << "glean: " << text << '\n'; };
  const auto results = service::recover_pools(options, companions, calls, tell);
  bool all_done = true, in_vain = false;
  for (const Result& result : results) {
    in_vain |= result.waited_in_vain;
    all_done &= result.state != "unfinished";
    for (const auto& output : result.found.outputs) all_done &= !is_lost(result, output);
  }
  const bool lacks_others = std::any_of(results.begin(), results.end(), [](const Result& result) {
    return result.found.nodes > 1 && result.state == "unfinished";
  });
  if (lacks_others && !why_alone.empty()) std::cerr << "glean: " << why_alone << '\n';
  // Those of all jobs, unless pools are named.
  const auto how = options.dry_run ? gather::Remaining::look : options.discard ? gather::Remaining::discard : gather::Remaining::gather;
  const auto rank_files = options.pools.empty() ? recover_rank_files(how) : std::vector<gather::LeftFiles>();
  for (const auto& job : rank_files) all_done &= options.dry_run || job.is_done();
  const int exit_code = !all_done ? found_a_failure : in_vain ? waited_in_vain : success;
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const Result& result : results) list.push_back(to_json(result));
    ordered_json all{{"pools", list}};
    if (!rank_files.empty()) all["rank_files"] = rank_files_to_json(rank_files);
    std::cout << all.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    return exit_code;
  }
  for (const Result& result : results) {
    if (result.state == "in use" && !result.waited_in_vain) print_in_use(result);
    else print(result);
  }
  print_rank_files(rank_files);
  if (results.empty() && rank_files.empty()) std::cout << "nothing to recover\n";
  return exit_code;
}

// Something is here, or may be, that is completed with other nodes.
bool needs_others(const RecoverOptions& options) {
  if (options.dry_run || options.discard) return false;
  if (!options.pools.empty()) return true;
  const auto pools = service::pool_names();
  return std::any_of(pools.begin(), pools.end(), [](const std::string& pool) { return service::look_at(pool).nodes > 1; });
}

}  // namespace

void add_recover(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RecoverOptions>();
  CLI::App* verb = app.add_subcommand("recover", "Complete what jobs have left that ended early, in this node's memory");
  verb->add_option("POOL", options->pools,
                   "Only these, by name (default: all that no process uses); a directory: where files that a job has removed get their "
                   "names back if its pool is gone");
  auto* dry_run = verb->add_flag("--dry-run", options->dry_run, "Only say what is there");
  verb->add_flag("--discard", options->discard, "Remove what is there, with the data")->excludes(dry_run);
  verb->add_flag("--without-stagers", options->without_stagers,
                 "The stagers whose memory is not here are gone for good: complete from what the nodes have kept (staging.keep)")
      ->excludes(dry_run);
  verb->add_option("--to", options->to, "Let the files appear in this directory instead of their own: where there is room")
      ->excludes(dry_run);
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag(fmt::format("--wait{{{}}}", as_long_as_it_takes), options->wait,
                 "Wait for a pool that only a helper process drains; of named pools for all; --wait=5min: at most so long")
      ->check([](const std::string& text) {
        return text == as_long_as_it_takes || base::parse_seconds(text) ? "" : "--wait=" + text + " is no duration like 5min";
      })
      ->excludes(dry_run);
  verb->footer("Exit code: 0, also when there is nothing; 1 when something that was complete is not in its file;\n"
               "2 when the command line is wrong, or a named pool is in use or on no node;\n"
               "4 when --wait was in vain.\n"
               "A job of several nodes: mpirun --map-by ppr:1:node glean recover,\n"
               "or srun --mpi=pmix -N NODES -n NODES glean recover");
  verb->callback([options, &exit_code] {
    const auto first = std::stable_partition(options->pools.begin(), options->pools.end(),
                                             [](const std::string& name) { return !std::filesystem::is_directory(name); });
    const std::vector<std::string> directories(first, options->pools.end());
    if (!options->wait.empty()) {
      options->wait_seconds = base::parse_seconds(options->wait).value_or(std::numeric_limits<double>::infinity());
    }
    options->pools.erase(first, options->pools.end());
    exit_code = with_companions(needs_others(*options), [&](service::Companions& companions, const std::string& why_alone) {
      return recover(*options, companions, why_alone);
    });
    store::SystemCalls calls;   // now: a pool that is still there knows more
    if (!options->dry_run) restore_in(directories, calls);
  });
}

}  // namespace glean::cli
