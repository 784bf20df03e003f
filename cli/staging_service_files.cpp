// SPDX-License-Identifier: BSD-3-Clause
//
// What the files that a staging service is asked for have to do with its jobs.
#include <algorithm>
#include <iterator>

#include "cli/staging_service.hpp"

namespace glean::cli {

StagerFiles::Options StagingService::file_options() {
  StagerFiles::Options options;
  options.directories = options_.directories;
  options.also_called = options_.also_called;
  options.is_draining = [this](const std::string& final_path) { return is_draining(final_path); };
  options.draining_paths = [this] { return draining_paths(); };
  options.answers_bytes = [this] {
    const std::scoped_lock lock(mutex_);
    return server_ ? server_->counts().answer_bytes : 0;
  };
  return options;
}

bool StagingService::is_draining(const std::string& final_path) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& each) {
    return each.second->staged && each.second->staged->is_draining(final_path);
  });
}

std::vector<std::string> StagingService::draining_paths() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [session, job] : jobs_) {
    if (!job->staged) continue;
    auto of_job = job->staged->draining_paths();
    std::move(of_job.begin(), of_job.end(), std::back_inserter(paths));
  }
  return paths;
}

}  // namespace glean::cli
