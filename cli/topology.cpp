// SPDX-License-Identifier: BSD-3-Clause
//
// glean topology: the machine that this is, or that a file describes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "cli/verbs.hpp"
#include "topology/discover/machine.hpp"
#include "topology/machine_files.hpp"
#include "topology/text.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;
using topology::Machine;

constexpr std::size_t hosts_shown = 4;

struct TopologyOptions {
  std::optional<std::string> machine;   // none: this one
  topology::NodeId nodes = 0;   // 0: all
  std::string format = "text";
  std::string directory = ".";
  bool list = false;
};

std::string counted(std::int64_t number, const std::string& what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// Parts of a line; those without a figure say nothing.
class Phrases {
 public:
  Phrases& add(std::string text) {
    phrases_.push_back(std::move(text));
    return *this;
  }
  Phrases& add_rate(const char* form, double bytes_per_second) {
    if (bytes_per_second > 0) add(fmt::format(fmt::runtime(form), base::readable_rate(bytes_per_second)));
    return *this;
  }
  Phrases& add_bytes(const char* form, base::Bytes bytes) {
    if (bytes > 0) add(fmt::format(fmt::runtime(form), base::readable_bytes(bytes)));
    return *this;
  }
  Phrases& add_time(const char* form, double seconds) {
    if (seconds > 0) add(fmt::format(fmt::runtime(form), base::exact_seconds(seconds)));
    return *this;
  }
  Phrases& add_count(const char* form, std::int64_t number) {
    if (number > 0) add(fmt::format(fmt::runtime(form), number));
    return *this;
  }
  [[nodiscard]] std::string text() const { return fmt::format("{}", fmt::join(phrases_, ", ")); }

 private:
  std::vector<std::string> phrases_;
};

std::string describe(const topology::Torus& torus) {
  Phrases phrases;
  std::vector<std::size_t> open;   // dimensions that do not wrap
  for (std::size_t d = 0; d < torus.wraps.size(); ++d) {
    if (!torus.wraps[d]) open.push_back(d);
  }
  const bool mesh = open.size() == torus.extents.size();
  phrases.add(fmt::format("{} of {}", mesh ? "mesh" : "torus", fmt::join(torus.extents, " x ")));
  if (!mesh && !open.empty()) phrases.add(fmt::format("open in dimension {}", fmt::join(open, " and ")));
  if (!torus.route_order.empty()) phrases.add(fmt::format("dimensions routed in the order {}", fmt::join(torus.route_order, " ")));
  phrases.add_rate("links of {}", torus.link_bytes_per_second);
  if (!torus.dimension_bytes_per_second.empty()) {
    std::vector<std::string> rates;
    for (const double rate : torus.dimension_bytes_per_second) rates.push_back(base::readable_rate(rate));
    phrases.add(fmt::format("links of {}", fmt::join(rates, " / ")));
  }
  return phrases.text();
}

std::string describe(const topology::FatTree& tree) {
  Phrases phrases;
  phrases.add(fmt::format("fat tree of {}", counted(static_cast<std::int64_t>(tree.levels.size()), "level")));
  for (const auto& level : tree.levels) {
    const std::string up = level.up > 0 ? fmt::format(", {} up", level.up) : "";
    const std::string rate = level.link_bytes_per_second > 0 ? " at " + base::readable_rate(level.link_bytes_per_second) : "";
    phrases.add(fmt::format("switches with {} down{}{}", level.down, rate, up));
  }
  return phrases.text();
}

std::string describe(const topology::Dragonfly& dragonfly) {
  return Phrases()
      .add(fmt::format("dragonfly of {}", counted(dragonfly.groups, "group")))
      .add(counted(dragonfly.routers_per_group, "router") + " each")
      .add(fmt::format("with {}", counted(dragonfly.nodes_per_router, "node")))
      .add_rate("nodes at {}", dragonfly.node_bytes_per_second)
      .add_rate("routers at {}", dragonfly.local_bytes_per_second)
      .add_rate("groups at {}", dragonfly.global_bytes_per_second)
      .text();
}

// Sizes that jobs can get; empty: any.
std::string partitions_of(const Machine& machine) {
  const auto* torus = std::get_if<topology::Torus>(&machine.network);
  std::set<std::int64_t> sizes;
  for (std::size_t i = 0; torus && i < torus->partitions.size(); ++i) {
    std::int64_t size = 1;
    for (const int extent : torus->partitions[i].extents) size *= extent;
    sizes.insert(size);
  }
  return fmt::format("{}", fmt::join(sizes, ", "));
}

std::string groups_of(const Machine& machine) {
  Phrases phrases;
  phrases.add(fmt::format("{} of {}", machine.groups(), counted(machine.group_size(0), "node")));
  if (!machine.way_out.group_extents.empty()) phrases.add(fmt::format("{} each", fmt::join(machine.way_out.group_extents, " x ")));
  if (const auto last = machine.group_size(machine.groups() - 1); last != machine.group_size(0)) {
    phrases.add(fmt::format("the last one of {}", last));
  }
  return phrases.text();
}

std::string gateways_of(const Machine& machine) {
  const topology::WayOut& way_out = machine.way_out;
  if (way_out.gateways.empty()) {
    return way_out.tree_bytes_per_second > 0 ? "none: a tree of each group's own" : "none: each node by itself";
  }
  std::vector<std::string> places;
  for (const auto& gateway : way_out.gateways) places.push_back(fmt::format("({})", fmt::join(gateway, ",")));
  return Phrases()
      .add(fmt::format("{} in each group, at {}", way_out.gateways.size(), fmt::join(places, " ")))
      .add_rate("{} each", way_out.gateway_bytes_per_second)
      .text();
}

void print_line(const char* name, const std::string& text) {
  if (!text.empty()) std::cout << fmt::format("{:<11} {}\n", name, text);
}

void print_machine(const Machine& machine) {
  const topology::FileSystem& file_system = machine.file_system;
  print_line("machine", machine.description.empty() ? machine.name : machine.name + ": " + machine.description);
  print_line("nodes", Phrases()
                          .add(fmt::format("{}", machine.nodes()))
                          .add(counted(machine.node.cores, "core") + " each")
                          .add(counted(machine.node.numa_nodes, "NUMA node"))
                          .add_bytes("{}", machine.node.memory_bytes)
                          .add_rate("copies at {}", machine.node.copy_bytes_per_second)
                          .text());
  print_line("network", std::visit([](const auto& kind) { return describe(kind); }, machine.network));
  print_line("messages", Phrases().add_time("{} each", machine.message_seconds).text());
  print_line("partitions", partitions_of(machine));
  print_line("I/O groups", groups_of(machine));
  print_line("gateways", gateways_of(machine));
  print_line("way out", Phrases()
                            .add_rate("tree {}", machine.way_out.tree_bytes_per_second)
                            .add_rate("group {}", machine.way_out.group_bytes_per_second)
                            .add_time("{} for each message", machine.way_out.message_seconds)
                            .add_count("{} messages at once", machine.way_out.concurrent_messages)
                            .text());
  print_line("storage", Phrases()
                            .add(file_system.name.empty() ? "not known" : file_system.name)
                            .add_bytes("blocks of {}", file_system.block_bytes)
                            .add_count("striped over {}", file_system.stripe_count)
                            .add_bytes("stripes of {}", file_system.stripe_bytes)
                            .add(counted(file_system.targets, "target"))
                            .add_rate("{}", file_system.bytes_per_second)
                            .add_rate("{} each target", file_system.target_bytes_per_second)
                            .text());
}

void print_found(const topology::RunningMachine& found) {
  const topology::Placement& placement = found.placement;
  std::vector<std::string> hosts;
  for (const std::string& host : found.job.hosts) hosts.push_back(host.empty() ? "?" : host);
  const std::size_t more = hosts.size() > hosts_shown ? hosts.size() - hosts_shown : 0;
  hosts.resize(hosts.size() - more);
  print_machine(found.machine);
  print_line("hosts", fmt::format("{}{}", fmt::join(hosts, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  print_line("ranks", Phrases()
                          .add(fmt::format("{}", placement.ranks))
                          .add(fmt::format("{} on a node", placement.ranks_per_node))
                          .add(!placement.listed.empty() ? "irregular"
                               : placement.order == topology::Placement::Order::block ? "in blocks" : "in turn")
                          .text());
  print_line("directory", fmt::format("{}{}{}", found.storage.directory, found.storage.writable ? "" : ", not writable",
                                      found.storage.direct_io ? ", direct I/O" : ""));
  for (const std::string& note : found.notes) print_line("note", note);
}

ordered_json document_of(const Machine& machine) {
  return {{"machine", ordered_json::parse(topology::to_json(machine))},
          {"nodes", machine.nodes()},
          {"groups", machine.groups()},
          {"nodes_per_group", machine.group_size(0)},
          {"gateways_per_group", machine.way_out.gateways.size()}};
}

ordered_json document_of(const topology::RunningMachine& found) {
  ordered_json document = document_of(found.machine);
  document["launcher"] = found.job.launcher.empty() ? ordered_json() : ordered_json(found.job.launcher);
  document["hosts"] = found.job.hosts;
  document["node_of_host"] = found.nodes;
  document["ranks_of_host"] = found.job.ranks;
  document["here"] = found.here;
  document["directory"] = found.storage.directory;
  document["notes"] = found.notes;
  return document;
}

void show(const TopologyOptions& options) {
  const auto print = [&](const auto& shown, const Machine& machine, const auto& print_text) {
    if (options.format == "toml") {
      std::cout << topology::to_toml(machine);
    } else if (options.format == "json") {
      std::cout << document_of(shown).dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    } else {
      print_text(shown);
    }
  };
  if (!options.machine) {
    const topology::RunningMachine found = topology::discover_machine(options.directory);
    print(found, found.machine, print_found);
  } else {
    const Machine whole = topology::load_machine(*options.machine);
    const Machine machine = options.nodes > 0 ? topology::partition(whole, options.nodes) : whole;
    print(machine, machine, print_machine);
  }
}

void print_list() {
  for (const std::string& name : topology::machine_names()) {
    std::cout << fmt::format("{:<11} {}\n", name, topology::load_machine(name).description);
  }
}

}  // namespace

void add_topology(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TopologyOptions>();
  CLI::App* verb = app.add_subcommand("topology", "Show this machine, or one that a file describes, as plans see it");
  auto* machine = verb->add_option("--machine", options->machine, "A machine by its name, or the path of its file");
  verb->add_option("--nodes", options->nodes, "The part of the machine that a job of so many nodes gets")
      ->check(WholeNumber(1))
      ->needs(machine);
  verb->add_option("--format", options->format, "text, toml (a machine file) or json")
      ->check(CLI::IsMember({"text", "toml", "json"}))
      ->capture_default_str();
  verb->add_flag("--list", options->list, "Print the machines that there are files of")->excludes(machine);
  verb->add_option("DIRECTORY", options->directory, "Where files will be written, on this machine")
      ->capture_default_str()
      ->excludes(machine);
  verb->footer("Exit code: 0, or 2 when there is no such machine, directory or part.");
  verb->callback([options, &exit_code] {
    if (options->list) {
      print_list();
    } else {
      show(*options);
    }
    exit_code = success;
  });
}

}  // namespace glean::cli
