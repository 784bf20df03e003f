// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "base/error.hpp"
#include "topology/discover/interconnect.hpp"
#include "topology/discover/switches.hpp"

namespace glean::topology {
namespace {

// Beside the configuration that Slurm names, or where it usually is.
std::string topology_conf_of(const base::Environment& environment, const Places& places) {
  const auto named = environment.find("SLURM_CONF");
  const std::filesystem::path directory =
      named == environment.end() ? std::filesystem::path(places.slurm) : std::filesystem::path(named->second).parent_path();
  std::ifstream file(directory / "topology.conf");
  return {std::istreambuf_iterator<char>(file), {}};
}

SwitchTree one_switch(std::size_t hosts) {
  SwitchTree tree{.network = {.nodes = static_cast<NodeId>(hosts), .levels = {{.down = static_cast<int>(hosts)}}}};
  tree.nodes.resize(hosts);
  std::iota(tree.nodes.begin(), tree.nodes.end(), 0);
  return tree;
}

SwitchTree network_of(const Job& job, const std::string& topology_conf, std::vector<std::string>& notes) {
  const bool named = std::find(job.hosts.begin(), job.hosts.end(), "") == job.hosts.end();
  if (topology_conf.empty() || job.launcher.empty() || !named) return one_switch(job.hosts.size());
  try {
    return tree_of_switches(topology_conf, job.hosts);
  } catch (const base::Error& error) {
    notes.push_back(fmt::format("{}; the nodes are taken to be on one switch", error.what()));
    return one_switch(job.hosts.size());
  }
}

// Slurm does not say how many links go up: they are taken to be as fast together as those of the nodes below.
void set_rates(FatTree& tree, double port_bytes_per_second) {
  double nodes_below = 1;
  for (FatTree::Level& level : tree.levels) {
    level.link_bytes_per_second = port_bytes_per_second * nodes_below;
    nodes_below *= level.down;
  }
}

FileSystem file_system_of(const Storage& storage) {
  return {.name = storage.file_system,
          .block_bytes = storage.block_bytes,
          .stripe_count = storage.stripe_count < 0 ? storage.targets : storage.stripe_count,
          .stripe_bytes = storage.stripe_bytes,
          .targets = storage.targets};
}

}  // namespace

RunningMachine discover_machine(const std::string& directory, const base::Environment& environment, const Places& places) {
  RunningMachine found;
  found.node = discover_node(places);
  found.storage = discover_storage(directory, places);
  found.job = job_from(environment, found.node.host_name);
  found.notes = found.job.notes;
  SwitchTree tree = network_of(found.job, topology_conf_of(environment, places), found.notes);
  const Port port = discover_port(places);
  if (port.name.empty() && found.job.hosts.size() > 1) found.notes.emplace_back("no port of this node says how fast it is");
  set_rates(tree.network, port.bytes_per_second);
  found.nodes = tree.nodes;
  found.here = tree.nodes[found.job.here];
  found.placement = placement_of(found.job, tree.nodes);
  found.machine.name = found.job.id.empty() ? found.node.host_name : "job " + found.job.id;
  found.machine.description = found.job.launcher.empty() ? "this node" : "as " + found.job.launcher + " tells it";
  found.machine.node = {.cores = std::max(1, static_cast<int>(found.node.cores.size())),
                        .numa_nodes = found.node.numa_nodes,
                        .memory_bytes = found.node.memory_bytes};
  found.machine.network = tree.network;
  found.machine.way_out.nodes_per_group = 1;
  found.machine.way_out.group_bytes_per_second = port.bytes_per_second;
  found.machine.file_system = file_system_of(found.storage);
  return found;
}

}  // namespace glean::topology
