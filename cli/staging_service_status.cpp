// SPDX-License-Identifier: BSD-3-Clause
//
// What a staging service says of itself and its jobs, to `glean stage status`.
#include <unistd.h>

#include <array>

#include "cli/staging_service.hpp"

namespace glean::cli {

nlohmann::json StagingService::to_json(const Job& job) const {
  constexpr std::array names{"joined", "connecting", "running", "ending"};
  const Files files = job.staged ? files_of(job.staged->trace()) : Files{};
  return {{"session", job.asked.session},
          {"label", job.asked.label},
          {"index", job.asked.index},
          {"stagers", job.asked.stagers},
          {"clients", job.asked.clients},
          {"state", names[static_cast<std::size_t>(job.state)]},
          {"seconds", seconds_since(job.since)},
          {"files", {{"published", files.published}, {"open", files.open}, {"failed", files.failed}, {"kept", files.kept}}},
          {"written_bytes", job.staged ? job.staged->pool().header().written_bytes.load() : 0},
          {"pool_bytes", job.plan.pool_bytes},
          {"pool_used_bytes", job.staged ? job.staged->pool().used_bytes() : 0},
          {"spilled_bytes", job.staged ? job.staged->pool().header().spilled_bytes.load() : 0}};
}

nlohmann::json StagingService::to_json(const Ended& ended) const {
  return {{"session", ended.session},
          {"label", ended.label},
          {"seconds", ended.seconds},
          {"files", {{"published", ended.files.published}, {"failed", ended.files.failed}, {"kept", ended.files.kept}}},
          {"written_bytes", ended.written_bytes},
          {"spilled_bytes", ended.spilled_bytes},
          {"problem", ended.problem},
          {"left_pool", ended.left_pool}};
}

nlohmann::json StagingService::status() {
  join_ended_threads();
  const std::scoped_lock lock(mutex_);
  const std::size_t connections = server_ ? server_->counts().connections : 0;
  const Bytes used = used_bytes();   // and forgets what is completed
  const auto read = files_there_.counts();
  Bytes left = 0;
  std::uint64_t kept_files = 0;
  for (const LeftPool& pool : left_) {
    left += pool.bytes;
    kept_files += pool.kept_files;
  }
  nlohmann::json jobs = nlohmann::json::array(), last = nlohmann::json::array();
  for (const auto& [session, job] : jobs_) jobs.push_back(to_json(*job));
  for (const Ended& ended : last_) last.push_back(to_json(ended));
  return {{"version", GLEAN_VERSION},
          {"host", host_},
          {"pid", ::getpid()},
          {"uptime_seconds", seconds_since(started_)},
          {"state", refuses_ ? "ending" : "running"},
          {"directories", options_.directories},
          {"spill", {{"directory", options_.spill_directory}, {"job_bytes", options_.spill_budget_bytes}}},
          {"memory",
           {{"budget_bytes", options_.memory_bytes},
            {"job_bytes", options_.job_memory_bytes},
            {"used_bytes", used},
            {"left_bytes", left},
            {"left_jobs", left_.size()},
            {"kept_files", kept_files},
            {"high_water_bytes", high_water_bytes_}}},
          {"connections", connections},
          {"reading", {{"open_files", read.open}, {"read_bytes", read.read_bytes}}},
          {"jobs", jobs},
          {"finished",
           {{"jobs", over_},
            {"incomplete", incomplete_},
            {"files", {{"published", files_.published}, {"failed", files_.failed}, {"kept", files_.kept}}},
            {"written_bytes", written_bytes_},
            {"last", last}}}};
}

}  // namespace glean::cli
