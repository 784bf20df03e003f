// SPDX-License-Identifier: BSD-3-Clause
#include "session/file_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "topology/discover/discover.hpp"
#include "topology/machine_files.hpp"

namespace glean::session {
namespace {

constexpr base::Bytes page_bytes = 4 * base::KiB;
constexpr base::Bytes window_min = base::MiB;           // where variables are small
constexpr base::Bytes request_min = 256 * base::KiB;   // that is tried
constexpr int requests_to_tune = 8;                    // a file of fewer says little
constexpr std::size_t measured_at_once = 64;

// The nodes of an I/O group that may write, of one that has as many in use as any. `writers`: of all groups; each has one at least.
int most_in_a_group(const plan::FileShare& share, std::int64_t writers) {
  const std::int64_t size = share.machine.group_size(0), groups = (share.nodes + size - 1) / size;
  return static_cast<int>(std::min({share.nodes, size, std::max<std::int64_t>(1, writers / groups)}));
}

// At most so many nodes or stagers write a file: storage gets slower when more clients want it than it can serve (seed 004, section 1.3).
std::int64_t writers_of(const base::Settings& settings, const topology::Machine& machine, std::int64_t nodes) {
  const int targets = machine.file_system.targets;   // 1: not known
  if (settings.plan.writers != 0) return std::min<std::int64_t>(settings.plan.writers, nodes);
  return targets > 1 ? std::min<std::int64_t>(targets, nodes) : nodes;
}

// Of a machine of which nothing is known each node is a group, which has to write; if fewer may, all of them are one.
topology::Machine plain_machine_of(const base::Settings& settings, std::int64_t nodes) {
  const topology::Machine machine = plan::plain_machine(nodes);
  return writers_of(settings, machine, nodes) < nodes ? plan::plain_machine(nodes, nodes) : machine;
}

}  // namespace

topology::Machine machine_of(const base::Settings& settings, int nodes) {
  const std::string& name = settings.topology.machine;
  if (name.empty()) return plain_machine_of(settings, nodes);
  const topology::Machine machine = topology::load_machine(name);
  if (nodes > machine.nodes()) {
    throw base::Error(base::Errc::invalid_config,
                      fmt::format("topology.machine = '{}' has {} nodes, and the job has {}", name, machine.nodes(), nodes));
  }
  return topology::partition(machine, nodes);
}

FilePlans::FilePlans(const base::Settings& settings, int nodes, const Parts& parts, const plan::NodePlan& node)
    : whole_{.machine = parts.count > 1 ? parts.machine : machine_of(settings, nodes), .machine_nodes = parts.nodes, .nodes = nodes},
      parts_(parts.count),
      tunes_(settings.plan.tune && settings.drain.place == base::DrainPlace::threads),
      writers_(most_in_a_group(whole_, writers_of(settings, whole_.machine, whole_.nodes))),
      tuner_({writers_, std::min(request_min, node.request_bytes)}) {
  limit(settings, node);
}

FilePlans::FilePlans(const base::Settings& settings, int stagers, int clients, const plan::NodePlan& node)
    : whole_{.machine = plain_machine_of(settings, stagers), .nodes = stagers, .first = clients, .publisher = clients},
      parts_(1), tunes_(false), writers_(most_in_a_group(whole_, writers_of(settings, whole_.machine, stagers))),
      tuner_({1, std::min(request_min, node.request_bytes)}) {
  limit(settings, node);
}

void FilePlans::limit(const base::Settings& settings, const plan::NodePlan& node) {
  limits_.aggregators_max = std::min(limits_.aggregators_max, writers_);
  // Where nothing is known of the machine, as many as may.
  if (settings.topology.machine.empty() && writers_ > 1) limits_.aggregators_min = limits_.aggregators_max = writers_;
  if (settings.plan.aggregators != 0) limits_.aggregators_min = limits_.aggregators_max = std::min(settings.plan.aggregators, writers_);
  limits_.memory_bytes = node.pool_bytes;
  limits_.request_bytes = node.request_bytes;
  limits_.piece_bytes = node.chunk_bytes;
}

plan::FileShare FilePlans::planned_share(const std::string& path, const store::FileLayout& layout) const {
  if (!whole_.is_shared()) return {.nodes = 1, .window_bytes = limits_.request_bytes, .request_bytes = limits_.request_bytes};
  topology::Storage storage;   // of stagers: it is to be seen there only
  if (whole_.first == 0) storage = topology::discover_storage(std::filesystem::absolute(path).parent_path().string());
  plan::FileShare share = whole_;
  share.machine.file_system.block_bytes = std::max(page_bytes, storage.block_bytes);
  if (storage.stripe_bytes != 0) share.machine.file_system.stripe_bytes = storage.stripe_bytes;
  const auto variables = static_cast<int>(layout.variables.size());
  const plan::Alternative best = plan::choose_share(share, bytes_of(layout), variables, limits_).best();
  share.aggregators = best.aggregators;
  // So long that every variable has one for each aggregator, as far as requests do not get short for that.
  const base::Bytes of_variable = best.bytes_per_aggregator / static_cast<base::Bytes>(std::max(1, variables));
  const base::Bytes window = std::max(limits_.window_bytes(share.machine.file_system, of_variable),
                                      limits_.window_bytes(share.machine.file_system, window_min));
  // A power of two of whole blocks: half a request is one, too.
  const base::Bytes unit = plan::unit_bytes(share.machine.file_system);
  share.window_bytes = base::align_up(unit * std::bit_floor(std::min(best.window_bytes, window) / unit), page_bytes);
  share.request_bytes = plan::request_of_window(share.window_bytes, limits_.request_bytes);
  return share;
}

base::Bytes FilePlans::bytes_of(const store::FileLayout& layout) const {
  return store::whole_size(layout, 1) / static_cast<base::Bytes>(parts_);
}

plan::FileShare FilePlans::share_of(const std::string& path, const store::FileLayout& layout) {
  plan::FileShare share = planned_share(path, layout);
  const base::Bytes bytes = bytes_of(layout);
  if (!tunes_ || bytes < requests_to_tune * share.request_bytes) return share;
  const plan::Tuner::Setup planned{share.aggregators, share.request_bytes};
  const plan::Tuner::Setup setup = tuner_.setup_for(path, planned, bytes);
  share.aggregators = setup.aggregators;
  share.request_bytes = plan::request_of_window(share.window_bytes, setup.request_bytes);
  on_their_way_.push_back({path, planned, setup, bytes});
  if (on_their_way_.size() > measured_at_once) on_their_way_.pop_front();   // it has failed perhaps
  return share;
}

void FilePlans::learn(const std::vector<drain::OutputTrace>& outputs) {
  if (!tunes_) return;
  std::uint64_t newest = learned_ns_;
  for (const drain::OutputTrace& output : outputs) {
    if (output.durable_ns <= learned_ns_ || output.state != "published") continue;
    newest = std::max(newest, output.durable_ns);
    const auto written = std::find_if(on_their_way_.begin(), on_their_way_.end(),
                                      [&](const Written& each) { return each.path == output.path; });
    if (written == on_their_way_.end()) continue;
    // From when the last of it was put: before that the program had a part in how long it took.
    tuner_.measured(written->planned, written->setup, written->bytes, base::seconds(output.durable_ns - output.last_capture_ns));
    on_their_way_.erase(written);
  }
  learned_ns_ = newest;
}

}  // namespace glean::session
