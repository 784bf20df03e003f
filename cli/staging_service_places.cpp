// SPDX-License-Identifier: BSD-3-Clause
//
// Places of stagers that are lost: this process takes one, or looks for another that does.
#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/staging_service.hpp"
#include "topology/discover/discover.hpp"

namespace glean::cli {

nlohmann::json StagingService::take(const staging::TakeRequest& request) {
  const topology::Node node = topology::discover_node();
  auto job = std::make_unique<Job>();
  job->asked = request.job.join;
  job->asked.index = request.index;
  job->places = request.job;
  const std::string key = key_of_place(job->asked);
  join_ended_threads();
  const std::scoped_lock lock(mutex_);
  if (const auto known = jobs_.find(key); known != jobs_.end()) return staging::taken_place(known->second->taken_door);
  const auto own = jobs_.find(job->asked.session);
  const bool has_it = own != jobs_.end() && own->second->asked.index == request.index;
  if (refuses_ || has_it || refused_places_.contains(key)) {
    throw base::Error(base::Errc::invalid_state, fmt::format("the staging service on {} does not take that place", host_));
  }
  try {
    job->plan = plan_for(job->asked, node);
    if (job->plan.chunk_bytes < job->asked.chunk_bytes) {
      throw base::Error(base::Errc::no_space, fmt::format("the staging service on {} has no memory for blocks of the job", host_));
    }
    job->door.emplace();
    job->taken_door = job->door->addresses();
    std::map<int, std::string> doors;
    for (const std::string& door : request.job.doors) doors[job->asked.clients + static_cast<int>(doors.size())] = door;
    job->neighbours = neighbours_of(*job, doors);
    make_pool(*job);
  } catch (const base::Error&) {
    refused_places_.insert(key);
    throw;
  }
  options_.tell(fmt::format("{} goes on here as stager {} of {}: the host of the one before is gone", job->name(), request.index + 1,
                            job->asked.stagers), Tone::plain);
  start(*job);
  const std::string door = job->taken_door;
  jobs_[key] = std::move(job);
  high_water_bytes_ = std::max(high_water_bytes_, used_bytes());
  return staging::taken_place(door);
}

std::unique_ptr<staging::PlaceSearch> StagingService::search_for(const Job& job, service::StagedJob& running) const {
  if (!job.places || job.asked.restart_seconds == 0) return nullptr;
  auto search = std::make_unique<staging::PlaceSearch>(*job.places, options_.key, [&running] { running.wake(); });
  running.find_places_with({.seek = [search = search.get()](int stager) { search->begin(stager); },
                            .end = [search = search.get()](int stager) { search->end(stager); },
                            .take_found = [search = search.get()] { return search->found(); }});
  return search;
}

}  // namespace glean::cli
