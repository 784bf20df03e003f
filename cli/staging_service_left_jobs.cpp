// SPDX-License-Identifier: BSD-3-Clause
//
// Jobs whose stager on this host was killed: this process takes its place.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cli/staging_service.hpp"
#include "nodes/exchange.hpp"
#include "service/remains.hpp"

namespace glean::cli {

void StagingService::go_on_with_left_jobs() {
  const auto mark_of_left = [&](const std::string& session,
                                const pool::Pool& left) -> std::optional<service::StagerPlace::KeyMark> {
    staging::JoinRequest asked;
    asked.session = session;
    asked.index = index_of(left);
    const std::scoped_lock lock(mutex_);
    if (refuses_ || jobs_.contains(left.header().is_made_anew != 0 ? key_of_place(asked) : session)) return std::nullopt;
    return mark_of(session);
  };
  for (const std::string& pool : service::pool_names()) static_cast<void>(service::remove_if_finished(pool));
  std::vector<std::unique_ptr<Job>> claimed;
  for (pool::Pool& pool : service::claim_left_stagers(mark_of_left)) {
    const std::string name = pool.name();
    try {
      claimed.push_back(job_of(std::move(pool)));
    } catch (const std::exception& error) {
      leave(name, error.what());
    }
  }
  // One that the process before had taken of a lost stager is not where the others of the job began with it.
  for (const auto& job : claimed) {
    for (const auto& other : claimed) {
      const auto neighbour = job->neighbours.find(other->self());
      const bool is_behind = other->asked.session == job->asked.session && other->self() > job->self();
      if (is_behind && neighbour != job->neighbours.end()) neighbour->second = other->door->addresses();
    }
  }
  for (auto& job : claimed) {
    const std::string name = job->own_pool->name();
    try {
      options_.tell(fmt::format("{} goes on here as stager {} of {}: the process before was killed", job->name(), job->asked.index + 1,
                                job->asked.stagers), Tone::plain);
      const std::scoped_lock lock(mutex_);
      std::erase_if(left_, [&](const LeftPool& left) { return left.name == name; });   // an earlier try
      start(*job);
      jobs_[job->key()] = std::move(job);
    } catch (const std::exception& error) {
      leave(name, error.what());
    }
  }
}

void StagingService::leave(const std::string& pool, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (std::any_of(left_.begin(), left_.end(), [&](const LeftPool& left) { return left.name == pool; })) return;
  left_.push_back({.name = pool, .bytes = std::filesystem::file_size("/dev/shm" + pool)});
  options_.tell(fmt::format("{} is left in memory, and does not go on: {}", pool.substr(1), why), Tone::problem);
}

int StagingService::index_of(const pool::Pool& pool) {
  const pool::PoolHeader& header = pool.header();
  return static_cast<int>(header.node) - static_cast<int>(header.nodes - header.stagers);
}

// A service that may write elsewhere does not take it.
service::StagerPlace::KeyMark StagingService::mark_of(const std::string& session) const {
  return staging::mark_of_key(options_.key, fmt::format("{}\n{}", session, fmt::join(options_.directories, "\n")));
}

std::unique_ptr<StagingService::Job> StagingService::job_of(pool::Pool left) const {
  const pool::PoolHeader& header = left.header();
  const auto text = [](const auto& chars) { return std::string(chars.data(), strnlen(chars.data(), chars.size())); };
  const service::StagerPlace place = service::place_in(left);
  auto job = std::make_unique<Job>();
  job->asked = {.session = text(header.session), .label = text(header.job), .clients = static_cast<int>(header.nodes - header.stagers),
                .stagers = static_cast<int>(header.stagers), .index = index_of(left),
                .chunk_bytes = header.chunk_bytes, .request_bytes = header.request_bytes, .restart_seconds = place.restart_seconds,
                .keeps = header.keeps_until_durable != 0};
  job->plan = left.plan();
  job->neighbours = neighbours_of(*job, place.doors);
  for (const int client : nodes::Exchange::clients_that_have_left(left)) {
    if (job->neighbours.erase(client) != 0) job->gone.insert(client);
  }
  job->door.emplace(place.port);
  if (header.is_made_anew != 0) job->taken_door = job->door->addresses();
  job->own_pool.emplace(std::move(left));
  job->is_left = true;
  return job;
}

// No node has looked for this one: the job has ended, or does without staging.
void StagingService::give_back(Job& job, Ended& ended) {
  if (service::holds_any(*job.own_pool)) {
    service::give_up_place(*job.own_pool);
    ended.left_pool = job.own_pool->name();
  } else {
    job.own_pool->remove();
    ended.problem.clear();
  }
}

}  // namespace glean::cli
