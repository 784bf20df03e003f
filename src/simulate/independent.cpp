// SPDX-License-Identifier: BSD-3-Clause
//
// Every rank writes its own, in blocking calls: one request for each variable, which the way out of its group forwards as it is.
#include <algorithm>

#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {
namespace {

enum class Into { one_file, own_file, file_of_group };

class Independent : public Strategy {
 public:
  Independent(std::string_view name, std::string_view summary, Into into) : name_(name), summary_(summary), into_(into) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return summary_; }

  [[nodiscard]] double files(const Site& site) const override {
    if (into_ == Into::own_file) return static_cast<double>(site.scenario().ranks());
    if (into_ == Into::file_of_group) return site.groups();
    return static_cast<double>(std::max<std::int64_t>(1, site.scenario().files));
  }

  [[nodiscard]] StepEnds add_step(Site& site, const std::vector<ActivityId>& ready, const StepEnds* /*last*/) const override {
    const Scenario& scenario = site.scenario();
    const double bytes = static_cast<double>(scenario.step_bytes());
    const Files files{.count = this->files(site), .clients_of_one = clients_of_one(site), .bytes = bytes};
    const double block = static_cast<double>(plan::unit_bytes(site.machine().file_system));
    std::vector<ActivityId> begin = ready;
    if (!scenario.to_io_nodes) begin = {site.add("create", {}, 0, create_seconds(site, files.count), ready)};
    std::vector<ActivityId> written;
    for (std::size_t crowd = 0; crowd < site.crowds().size(); ++crowd) {
      for (const auto& member : site.crowds()[crowd].shape->members) {
        if (member.bytes == 0) continue;
        Path path{.alike = site.ranks_at(site.crowds()[crowd], member.position)};
        const double of_rank = static_cast<double>(member.bytes) / path.alike;
        path.message_bytes = std::min(of_rank / scenario.request.variables, static_cast<double>(scenario.limits.request_bytes));
        site.out_of_group(path, crowd, member.position, site.default_gateway(crowd, member.position));
        // Chunks of a container are whole blocks, and one client has all that are in it: it writes blocks.
        if (into_ == Into::file_of_group) path.message_bytes = std::max(path.message_bytes, block);
        if (!scenario.to_io_nodes) site.into_files(path, path.alike * site.crowds()[crowd].count, files);
        written.push_back(site.add("write", path, of_rank, 0, begin));
      }
    }
    written.insert(written.end(), begin.begin(), begin.end());
    const ActivityId end = site.milestone("written", std::move(written));
    return {end, end, end};
  }

 private:
  // Only what different clients write into is shared: all of a group are one, behind its I/O node.
  [[nodiscard]] double clients_of_one(const Site& site) const {
    if (into_ == Into::own_file) return 1;
    return into_ == Into::file_of_group ? site.clients() / site.groups() : site.clients() / files(site);
  }

  [[nodiscard]] double create_seconds(const Site& site, double files) const {
    const topology::FileSystem& system = site.machine().file_system;
    const bool all_at_once = into_ == Into::own_file && system.directory_create_seconds > 0;
    return files * (all_at_once ? system.directory_create_seconds : system.create_seconds);
  }

  std::string_view name_, summary_;
  Into into_;
};

}  // namespace

const Strategy& shared_file() {
  static const Independent strategy("posix", "every rank writes its part of a shared file, one request for each variable", Into::one_file);
  return strategy;
}

const Strategy& file_per_process() {
  static const Independent strategy("file-per-process", "every rank writes a file of its own, all in one directory", Into::own_file);
  return strategy;
}

const Strategy& container() {
  static const Independent strategy("container", "every rank writes its part of the container of its I/O group", Into::file_of_group);
  return strategy;
}

}  // namespace glean::simulate
