// SPDX-License-Identifier: BSD-3-Clause
//
// Prints docs/figures/seed-003.md: what the paper of seed 003 has measured on Mira with and without reassigned bridge nodes,
// beside what counting routes gives on machines/mira.toml. The same bytes every time: `make figures` writes it, a test compares.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "plan/gateway_load.hpp"
#include "plan/gateways.hpp"
#include "topology/machine.hpp"
#include "topology/text.hpp"

namespace {

using glean::base::Bytes;
using glean::plan::assign_gateways;
using glean::plan::default_gateways;
using glean::plan::GatewayAssignment;
using glean::plan::GatewayTraffic;
using glean::plan::LoadSpread;
using glean::topology::Machine;
using glean::topology::NodeId;
using glean::topology::Torus;

constexpr Bytes KiB = 1024, MiB = 1024 * KiB;
constexpr Bytes packet_bytes = 512;   // largest payload of a packet of BG/Q's torus
constexpr double published_ratio_min = 1.40;

Machine read_machine(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  return glean::topology::machine_from_toml(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

// One line of docs/figures/published-003.csv.
struct Published {
  Bytes write_bytes = 0;
  NodeId nodes = 0;
  int ranks_per_node = 0;
  std::string strategy, quantity, value, where;
};

std::vector<Published> read_published(const std::string& path) {
  std::ifstream file(path);
  std::vector<Published> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string write, nodes, ranks;
    Published one;
    for (std::string* field : {&write, &nodes, &ranks, &one.strategy, &one.quantity, &one.value, &one.where}) {
      if (!std::getline(fields, *field, ',')) throw std::runtime_error(fmt::format("{}: not seven fields: {}", path, line));
    }
    one.write_bytes = std::stoull(write), one.nodes = std::stoll(nodes), one.ranks_per_node = std::stoi(ranks);
    all.push_back(one);
  }
  if (all.empty()) throw std::runtime_error(fmt::format("{}: nothing is in it", path));
  return all;
}

class Figures {
 public:
  Figures(Machine mira, std::vector<Published> published) : mira_(std::move(mira)), published_(std::move(published)) {}
  void print() const;

 private:
  [[nodiscard]] std::string published(const GatewayTraffic& traffic, NodeId nodes, const std::string& strategy) const;
  [[nodiscard]] double published_messages(const GatewayTraffic& traffic, const std::string& strategy) const {
    return std::stod(published(traffic, 2048, strategy));
  }
  void print_assumptions() const;
  void print_messages() const;
  void print_growth() const;
  void print_deviations() const;
  void print_positions() const;

  Machine mira_;
  std::vector<Published> published_;
};

enum class Strategy { by_default, optimised };

// The loads of groups 0 … groups - 1.
LoadSpread through_gateways(const Machine& machine, Strategy strategy, const GatewayTraffic& traffic, std::int64_t groups) {
  std::vector<GatewayAssignment> assignments;
  for (std::int64_t group = 0; group < groups; ++group) {
    assignments.push_back(strategy == Strategy::optimised ? assign_gateways(machine, group) : default_gateways(machine, group));
  }
  return glean::plan::spread(glean::plan::count_load(machine, assignments, traffic).gateways);
}

LoadSpread through_gateways(const Machine& machine, Strategy strategy, const GatewayTraffic& traffic) {
  return through_gateways(machine, strategy, traffic, machine.groups());
}

GatewayTraffic traffic_of(Bytes write_bytes, int ranks_per_node) {
  return {.ranks_per_node = ranks_per_node, .bytes_per_rank = write_bytes, .message_bytes = packet_bytes};
}

std::string size_name(Bytes bytes) { return bytes < MiB ? fmt::format("{} KB", bytes / KiB) : fmt::format("{} MB", bytes / MiB); }

std::vector<int> route_order(const Torus& torus) {
  auto order = torus.route_order;
  if (order.empty()) {
    order.resize(torus.extents.size());
    std::iota(order.begin(), order.end(), 0);
  }
  return order;
}

std::string dimension_names(const std::vector<int>& dimensions) {
  std::string names;
  for (const int dimension : dimensions) names += static_cast<char>('A' + dimension);
  return names;
}

std::string Figures::published(const GatewayTraffic& traffic, NodeId nodes, const std::string& strategy) const {
  for (const auto& one : published_) {
    if (one.write_bytes == traffic.bytes_per_rank && one.nodes == nodes && one.ranks_per_node == traffic.ranks_per_node &&
        one.strategy == strategy) {
      return one.value;
    }
  }
  throw std::runtime_error(fmt::format("no published value of {} writes, {} nodes, {} ranks per node, {}",
                                       size_name(traffic.bytes_per_rank), nodes, traffic.ranks_per_node, strategy));
}

void Figures::print_assumptions() const {
  fmt::print("## What is known, and what is assumed\n\n"
             "The paper says: two bridge nodes for every 128 nodes, each with 64 of them by default, not always the closest one;\n"
             "static routes. It does not say where the bridge nodes are, which nodes they have by default, in which order the\n"
             "dimensions are routed, or what shape the jobs had. That is assumed, in `machines/mira.toml`:\n\n");
  const auto& way_out = mira_.way_out;
  std::vector<std::string> positions;
  for (const auto& gateway : way_out.gateways) positions.push_back(fmt::format("({})", fmt::join(gateway, ", ")));
  fmt::print("- the 128 nodes are a box of {}, and the bridge nodes are at {} in each;\n", fmt::join(way_out.group_extents, " x "),
             fmt::join(positions, " and "));
  fmt::print("- by default {};\n", way_out.default_gateway.empty()
                                       ? "the first 64 nodes of a box have the first bridge node, the others the second"
                                       : "nodes have the bridge node that `default_gateway` of the file says");
  for (const NodeId nodes : {512, 1024, 2048}) {
    const Machine part = partition(mira_, nodes);
    const auto& torus = std::get<Torus>(part.network);
    fmt::print("- a job of {} nodes has {}, routed in the order {}{}\n", nodes, fmt::join(torus.extents, " x "),
               dimension_names(route_order(torus)), nodes == 2048 ? "." : ";");
  }
  fmt::print("\nOf the algorithm, \"average weight\" is taken as: nodes that a tree could bring closer to a bridge node, divided by\n"
             "the bridge nodes of the 128; trees of a level take one node each in turn. Messages are packets of at most {} bytes.\n\n",
             packet_bytes);
}

void Figures::print_messages() const {
  fmt::print("## Table 1: messages through a bridge node, on average, 2048 nodes\n\n"
             "The paper does not give the unit of its counts; they are neither packets nor writes as such. What can be compared is the\n"
             "ratio of default to optimised, and whether the unit is the same everywhere: the last two columns.\n\n"
             "| write | ranks per node | published: default | optimised | ratio | computed, packets: default | optimised "
             "| ratio | packets per published unit: default | optimised |\n|---|---|---|---|---|---|---|---|---|---|\n");
  const Machine part = partition(mira_, 2048);
  std::vector<double> units_before, units_after;
  for (const int ranks : {4, 8}) {
    for (const Bytes write : {64 * KiB, 2 * MiB}) {
      const auto traffic = traffic_of(write, ranks);
      const double before = through_gateways(part, Strategy::by_default, traffic).mean;
      const double after = through_gateways(part, Strategy::optimised, traffic).mean;
      const double published_before = published_messages(traffic, "default");
      const double published_after = published_messages(traffic, "optimised");
      units_before.push_back(before / published_before);
      units_after.push_back(after / published_after);
      fmt::print("| {} | {} | {} | {} | {:.2f} | {:.0f} | {:.0f} | {:.2f} | {:.0f} | {:.0f} |\n", size_name(write), ranks,
                 published(traffic, 2048, "default"), published(traffic, 2048, "optimised"), published_before / published_after,
                 before, after, before / after, units_before.back(), units_after.back());
    }
  }
  const auto range_percent = [](const std::vector<double>& units) {
    const auto [least, most] = std::ranges::minmax(units);
    return 100 * (most / least - 1);
  };
  fmt::print("\nThe unit of the default counts is the same within {:.1f} %, that of the optimised ones within {:.1f} %. What a\n"
             "reassigned node and its bridge node send each other besides the data was measured and is not computed.\n\n",
             range_percent(units_before), range_percent(units_after));
}

void Figures::print_growth() const {
  const auto ratio_of = [&](const GatewayTraffic& more, const GatewayTraffic& less, const std::string& strategy) {
    return published_messages(more, strategy) / published_messages(less, strategy);
  };
  fmt::print("How the counts grow with the ranks and with the writes depends on nothing that is assumed. They grow with the bytes, so\n"
             "what is counted are packets:\n\n"
             "| from | to | published: default | optimised | computed |\n|---|---|---|---|---|\n");
  const auto row = [&](const GatewayTraffic& less, const GatewayTraffic& more) {
    const auto name = [](const GatewayTraffic& traffic) {
      return fmt::format("{}, {} ranks", size_name(traffic.bytes_per_rank), traffic.ranks_per_node);
    };
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", name(less), name(more), ratio_of(more, less, "default"),
               ratio_of(more, less, "optimised"),
               static_cast<double>(more.messages_of_node()) / static_cast<double>(less.messages_of_node()));
  };
  row(traffic_of(64 * KiB, 4), traffic_of(64 * KiB, 8));
  row(traffic_of(2 * MiB, 4), traffic_of(2 * MiB, 8));
  row(traffic_of(64 * KiB, 4), traffic_of(2 * MiB, 4));
  row(traffic_of(64 * KiB, 8), traffic_of(2 * MiB, 8));
  fmt::print("\n");
}

void Figures::print_deviations() const {
  fmt::print("## Table 2: normalised standard deviation of the messages through the bridge nodes, 1 rank per node\n\n"
             "| write | nodes | bridge nodes | published: default | optimised | coalesced | computed: default | optimised | coalesced |\n"
             "|---|---|---|---|---|---|---|---|---|\n");
  for (const Bytes write : {64 * KiB, 2 * MiB}) {
    for (const NodeId nodes : {512, 1024, 2048}) {
      const Machine part = partition(mira_, nodes);
      const auto traffic = traffic_of(write, 1);
      auto coalesced = traffic;
      coalesced.write = GatewayTraffic::Write::of_node;
      fmt::print("| {} | {} | {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} |\n", size_name(write), nodes,
                 part.groups() * static_cast<std::int64_t>(part.way_out.gateways.size()), published(traffic, nodes, "default"),
                 published(traffic, nodes, "optimised"), published(traffic, nodes, "coalesced optimised"),
                 through_gateways(part, Strategy::by_default, traffic).deviation,
                 through_gateways(part, Strategy::optimised, traffic).deviation,
                 through_gateways(part, Strategy::optimised, coalesced).deviation);
    }
  }
  fmt::print("\nWith one rank on a node there is nothing to coalesce: the two columns are the same, and nearly so as published. The\n"
             "counters on the machine have seen whatever else went through its network; counted routes have no such noise, and all\n"
             "groups are alike, so that what is left is the difference between the two bridge nodes of a group.\n\n");
}

void Figures::print_positions() const {
  fmt::print("## How much depends on what is assumed\n\n"
             "Everything is as above but two things: which dimension is routed last (the others stay in their order), and where the\n"
             "second bridge node of each 128 is: next to the first in that dimension. The last column tries all places that\n"
             "it can have.\n\n"
             "| routed last | second bridge node | ratio | deviation: default | optimised | places with a ratio of {:.2f} or more |\n"
             "|---|---|---|---|---|---|\n",
             published_ratio_min);
  Machine part = partition(mira_, 2048);
  auto& torus = std::get<Torus>(part.network);
  const auto order = route_order(torus);
  const auto first = part.way_out.gateways.at(0);
  const GatewayTraffic traffic;
  // Groups are alike, and routes stay inside: one of them tells.
  const auto ratio_with = [&](const std::vector<int>& second) {
    part.way_out.gateways = {first, second};
    return through_gateways(part, Strategy::by_default, traffic, 1).mean / through_gateways(part, Strategy::optimised, traffic, 1).mean;
  };
  for (const int last : order) {
    torus.route_order = order;
    std::erase(torus.route_order, last);
    torus.route_order.push_back(last);
    int reached = 0;
    for (NodeId place = 0; place < part.group_size(0); ++place) {
      const auto second = part.coordinates(part.node_in_group(0, place));
      if (second != first && ratio_with(second) >= published_ratio_min) ++reached;
    }
    auto next = first;
    const auto dimension = static_cast<std::size_t>(last);
    next[dimension] = (next[dimension] + 1) % part.way_out.group_extents[dimension];
    const double ratio = ratio_with(next);
    fmt::print("| {} | ({}) | {:.2f} | {:.3f} | {:.3f} | {} |\n", dimension_names({last}), fmt::join(next, ", "), ratio,
               through_gateways(part, Strategy::by_default, traffic, 1).deviation,
               through_gateways(part, Strategy::optimised, traffic, 1).deviation, reached);
  }
  fmt::print("\nA ratio as published needs bridge nodes that are next to each other in the dimension that is routed last, where the 128\n"
             "have two positions in it: half of the messages of each then pass the other. With four positions in a ring of four it is\n"
             "less, but the two bridge nodes of a group then differ by default as much as published. What was measured may well be of\n"
             "groups of both kinds.\n");
}

void Figures::print() const {
  fmt::print("# Gateways: published and computed\n\n"
             "Made by `make figures` from `machines/mira.toml` and `docs/figures/published-003.csv`; not to be edited. The algorithm is\n"
             "`assign_gateways` of [src/plan](../../src/plan/README.md), the counts are those of `count_load`.\n\n");
  print_assumptions();
  print_messages();
  print_growth();
  print_deviations();
  print_positions();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: figures_003 machines/mira.toml docs/figures/published-003.csv > docs/figures/seed-003.md\n");
    return 2;
  }
  try {
    Figures(read_machine(argv[1]), read_published(argv[2])).print();
  } catch (const std::exception& error) {
    fmt::print(stderr, "figures_003: {}\n", error.what());
    return 1;
  }
  return 0;
}
