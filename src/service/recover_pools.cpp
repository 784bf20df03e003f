// SPDX-License-Identifier: BSD-3-Clause
#include "service/recover_pools.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "pool/pool.hpp"
#include "service/process_life.hpp"

namespace glean::service {
namespace {

constexpr double ending_seconds = 10;   // that the last processes of a killed job take, at most

using Tell = std::function<void(const std::string&)>;

// A process that uses the pool; 0: none. Nothing: there is no such pool any more.
std::optional<int> user_of(const std::string& pool) {
  try {
    return pool::Pool::process_using(pool);
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::not_found) return std::nullopt;
    throw;
  }
}

// Until the processes that use the pool have done their work, or are gone.
void wait_for_its_end(PoolResult& result, double seconds, const Tell& tell) {
  using Clock = std::chrono::steady_clock;
  const std::string pool = result.found.pool;
  const auto begin = Clock::now();
  auto tell_at = begin + std::chrono::milliseconds(result.found.is_ending ? 200 : 1000);
  for (;;) {
    const auto user = user_of(pool);
    if (!user) {
      result.found.outputs.clear();
      result.state = "drained";
      result.problem = "another process has completed it: what it could not complete is named in glean-drain" +
                       pool.substr(std::string("/glean").size()) + ".log where the program ran";
      return;
    }
    if (*user == 0) {
      result.found = look_at(pool);
      return;
    }
    const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
    if (waited >= seconds) {
      result.waited_in_vain = true;
      return;
    }
    if (Clock::now() >= tell_at) {
      const bool is_ending = life_of(*user) != ProcessLife::going_on;
      tell(is_ending ? fmt::format("process {} was killed and is not gone yet: waiting for {}", *user, pool.substr(1))
                     : fmt::format("process {} drains {}: waiting since {:.0f} s", *user, pool.substr(1), waited));
      tell_at += std::chrono::seconds(10);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Says of a file where it is that was to appear in another directory.
std::string where_it_is(const std::string& final_path, const std::string& to) {
  if (to.empty()) return final_path;
  const std::filesystem::path path(final_path), directory(to);
  for (const auto& place : {directory / path.parent_path().filename() / path.filename(), directory / path.filename()}) {
    if (std::filesystem::exists(place)) return place.string();
  }
  return final_path;
}

PoolResult treat(const std::string& pool, const RecoverRequest& request, store::SystemCalls& calls, const Tell& tell) {
  PoolResult result;
  result.found = look_at(pool);
  result.state = "found";
  // The launcher of a killed job may have ended before the last of its ranks has.
  const bool has_no_drain = result.found.ranks_live && !result.found.is_drained && !request.dry_run;
  const bool is_ending = result.found.is_ending || has_no_drain;
  // If the user has not named a pool, and its ranks live and have a drain, its job need not be about to end.
  const bool is_awaited = request.wait_seconds.has_value() && (!result.found.ranks_live || is_ending || !request.pools.empty());
  if (result.found.in_use_by != 0 && (is_awaited || is_ending)) {
    wait_for_its_end(result, is_awaited ? *request.wait_seconds : ending_seconds, tell);
    result.waited_in_vain = result.waited_in_vain && is_awaited;
    if (result.state == "drained") return result;
  }
  if (result.found.in_use_by != 0) {
    result.state = "in use";
    result.problem = fmt::format("the pool '{}' is in use by process {}", pool, result.found.in_use_by);
    return result;
  }
  result.problem = result.found.problem;
  if (!request.to.empty() && result.found.nodes > 1) {
    result.state = "unfinished";
    result.problem = "files of several nodes can only be completed where the job wanted them: run it without --to";
    return result;
  }
  const bool with_others = result.found.nodes > 1 && !request.discard;   // all of its job at once, later
  if (request.dry_run || with_others) return result;
  try {
    if (request.discard) {
      discard(pool, calls);
      result.state = "discarded";
      result.problem.clear();
      return result;
    }
    int seconds = 0;
    auto recovered = recover(pool, calls, [&] {
      if (++seconds % 10 == 0) tell(fmt::format("still writing what is in {} ({} s)", pool.substr(1), seconds));
    }, request.to);
    result.outputs = std::move(recovered.outputs);
    for (auto& output : result.found.outputs) output.final_path = where_it_is(output.final_path, request.to);
    result.restored = std::move(recovered.restored);
    result.hidden = std::move(recovered.hidden);
    result.state = recovered.pool_removed ? "recovered" : "unfinished";
    result.problem = recovered.pool_removed ? "" : "the rest stays in memory: mend what is wrong, and run this again";
  } catch (const base::Error& error) {
    // Another one was quicker, or it cannot be read.
    const bool busy = error.code() == base::Errc::invalid_state || error.code() == base::Errc::not_found;
    result.state = busy ? "in use" : "unfinished";
    const bool is_taken = error.code() == base::Errc::exists;   // a name in the directory of --to
    result.problem = std::string(error.what()) + (busy ? "" : is_taken ? "; " + error.hint() : "; --discard removes it");
  }
  return result;
}

// Pools of jobs of several nodes, with the processes on the other nodes.
void recover_with_others(std::vector<PoolResult>& results, store::SystemCalls& calls, Companions& companions,
                         const Tell& tell, bool without_stagers) {
  std::vector<std::string> pools;
  for (const PoolResult& result : results) {
    if (result.found.nodes > 1 && result.state == "found") pools.push_back(result.found.pool);
  }
  int seconds = 0;
  const auto waiting = [&] {
    if (++seconds % 10 == 0) tell(fmt::format("still completing what is in the pools of several nodes ({} s)", seconds));
  };
  for (auto& of_pool : recover_nodes(pools, companions, calls, waiting, without_stagers)) {
    const auto is_its = [&](const PoolResult& each) { return each.found.pool == of_pool.pool; };
    const auto result = std::find_if(results.begin(), results.end(), is_its);
    result->outputs = std::move(of_pool.recovered.outputs);
    result->problem = of_pool.problem;
    result->state = of_pool.recovered.pool_removed ? "recovered" : "unfinished";
    if (of_pool.problem.empty() && !of_pool.recovered.pool_removed) {
      result->problem = "the rest stays in memory: mend what is wrong, and run this again";
    }
  }
}

// Those that are here. Each of the named ones has to be somewhere: a job of several nodes has one on each. Collective.
std::vector<std::string> chosen_pools(const RecoverRequest& request, Companions& companions) {
  if (request.pools.empty()) return pool_names();
  std::vector<std::string> here, missing;
  for (const std::string& name : request.pools) {
    const std::string pool = name.starts_with('/') ? name : "/" + name;
    (user_of(pool) ? here : missing).push_back(pool);
  }
  std::set<std::string> anywhere;
  for (const std::string& text : companions.from_all(fmt::format("{}", fmt::join(here, "\n")))) {
    std::istringstream lines(text);
    for (std::string pool; std::getline(lines, pool);) anywhere.insert(pool);
  }
  for (const std::string& pool : missing) {
    if (!anywhere.contains(pool)) throw base::Error(base::Errc::not_found, "there is no pool '" + pool + "', and no such directory");
  }
  return here;
}

}  // namespace

std::vector<PoolResult> recover_pools(const RecoverRequest& request, Companions& companions, store::SystemCalls& calls, const Tell& tell) {
  std::vector<PoolResult> results;
  std::string problem;
  for (const std::string& pool : chosen_pools(request, companions)) {
    PoolResult result = treat(pool, request, calls, tell);
    if (!request.pools.empty() && result.state == "in use" && !result.waited_in_vain) {
      problem = result.problem;
      break;
    }
    results.push_back(std::move(result));
  }
  for (const std::string& of_one : companions.from_all(problem)) {
    if (!of_one.empty()) throw base::Error(base::Errc::invalid_state, of_one);
  }
  if (!request.dry_run && !request.discard) recover_with_others(results, calls, companions, tell, request.without_stagers);
  // What another process was to do, it says.
  std::erase_if(results, [&](const PoolResult& result) { return result.found.nodes > 1 && result.state == "found" && !request.dry_run; });
  return results;
}

}  // namespace glean::service
