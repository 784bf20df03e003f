// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank_files.hpp"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace glean::cli {

std::vector<gather::LeftFiles> recover_rank_files(gather::Remaining what) {
  std::vector<gather::LeftFiles> jobs;
  for (const std::string& root : gather::NodeFiles::roots()) {
    auto job = gather::recover_files(root, what, gather::Ended::killed);
    if (job.state != "in use") jobs.push_back(std::move(job));
  }
  return jobs;
}

void print_rank_files(const std::vector<gather::LeftFiles>& jobs) {
  for (const auto& job : jobs) {
    std::cout << fmt::format("{}: {}\n", job.root, job.state);
    for (const auto& container : job.containers) std::cout << fmt::format("  {}\n", gather::describe(container));
  }
}

nlohmann::ordered_json rank_files_to_json(const std::vector<gather::LeftFiles>& jobs) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& job : jobs) {
    auto containers = nlohmann::ordered_json::array();
    for (const auto& left : job.containers) {
      containers.push_back({{"container", left.container}, {"files", left.files}, {"bytes", left.bytes}, {"unclosed", left.unclosed},
                            {"kept_as", left.kept_as}, {"state", left.state}, {"problem", left.problem}});
    }
    list.push_back({{"directory", job.root}, {"state", job.state}, {"containers", containers}});
  }
  return list;
}

std::vector<std::string> finish_rank_files(const std::string& run_directory, bool has_failed) {
  std::vector<std::string> lines;
  for (const std::string& root : gather::NodeFiles::roots()) {
    try {
      const gather::NodeFiles files(root);
      if (files.settings().run_directory != run_directory || files.is_owned()) continue;
    } catch (const base::Error&) {
      continue;   // another job's, that is just beginning or ending
    }
    const auto how = has_failed ? gather::Remaining::look : gather::Remaining::gather;
    const auto job = gather::recover_files(root, how, has_failed ? gather::Ended::killed : gather::Ended::normally);
    for (const auto& left : job.containers) {
      if (left.state == "unfinished" || !left.unclosed.empty() || has_failed) lines.push_back(gather::describe(left));
    }
    if (!job.is_done()) lines.emplace_back("`glean recover` gathers the files of ranks that are still on this node");
  }
  return lines;
}

}  // namespace glean::cli
