// SPDX-License-Identifier: BSD-3-Clause
//
// Machines, placements and requests at random, for the property tests of the planner.
#pragma once

#include <random>

#include "plan/request.hpp"
#include "topology/machine.hpp"

namespace glean::plan::test {

struct RandomCase {
  topology::Machine machine;
  topology::Placement placement;
  Request request;
  Limits limits;
};

class RandomCases {
 public:
  explicit RandomCases(std::uint64_t seed) : random_(seed) {}

  RandomCase next() {
    RandomCase made;
    make_network(made.machine);
    make_figures(made.machine);
    make_placement(made);
    make_request(made);
    return made;
  }

 private:
  std::int64_t from(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random_); }
  int small(int low, int high) { return static_cast<int>(from(low, high)); }
  bool chance(int percent) { return from(1, 100) <= percent; }

  void make_torus(topology::Machine& machine) {
    topology::Torus torus{.link_bytes_per_second = 1e9};
    const int dimensions = small(1, 4);
    const bool boxes = chance(70);
    for (int d = 0; d < dimensions; ++d) {
      const int of_group = small(1, 3), groups = small(1, 3);
      torus.extents.push_back(of_group * groups);
      torus.wraps.push_back(chance(70));
      if (boxes) machine.way_out.group_extents.push_back(of_group);
    }
    machine.network = torus;
    if (!boxes) machine.way_out.nodes_per_group = from(1, 20);
    if (boxes && chance(40)) {
      std::vector<int> low(static_cast<std::size_t>(dimensions), 0), high;
      for (const int extent : machine.way_out.group_extents) high.push_back(extent - 1);
      machine.way_out.gateways.push_back(low);
      if (high != low) machine.way_out.gateways.push_back(high);
      machine.way_out.gateway_bytes_per_second = 2e9;
    }
  }

  void make_network(topology::Machine& machine) {
    switch (from(0, 2)) {
      case 0: return make_torus(machine);
      case 1: {
        const int leaf = small(1, 12), leaves = small(1, 5);
        machine.network = topology::FatTree{.nodes = from(1, leaf * leaves),
                                            .levels = {{.down = leaf, .up = small(1, 4), .link_bytes_per_second = 1e10},
                                                       {.down = leaves, .link_bytes_per_second = 1e10}}};
        break;
      }
      default:
        machine.network = topology::Dragonfly{.groups = small(1, 4), .routers_per_group = small(1, 4), .nodes_per_router = small(1, 4),
                                              .node_bytes_per_second = 1e10, .local_bytes_per_second = 1e10,
                                              .global_bytes_per_second = 1e10};
    }
    machine.way_out.nodes_per_group = from(1, 20);
  }

  void make_figures(topology::Machine& machine) {
    machine.name = "random";
    machine.node = {.cores = 4, .memory_bytes = base::GiB << from(0, 6), .copy_bytes_per_second = chance(80) ? 5e9 : 0};
    machine.message_seconds = 1e-6 * static_cast<double>(from(0, 5));
    if (chance(60)) machine.way_out.group_bytes_per_second = 1e9;
    machine.way_out.message_seconds = 1e-6 * static_cast<double>(from(0, 100));
    machine.way_out.concurrent_messages = small(0, 8);
    if (chance(80)) machine.file_system.block_bytes = base::Bytes{4096} << from(0, 11);
    if (chance(50)) {
      machine.file_system.stripe_count = small(1, 8);
      machine.file_system.stripe_bytes = static_cast<Bytes>(from(1, 3)) * base::MiB;
    }
    machine.file_system.targets = small(1, 64);
    if (chance(80)) machine.file_system.bytes_per_second = 5e9;
  }

  void make_placement(RandomCase& made) {
    topology::Placement& placement = made.placement;
    placement.ranks_per_node = small(1, 5);
    if (chance(30)) {
      for (std::int64_t rank = from(0, 59); rank >= 0; --rank) placement.listed.push_back(from(0, made.machine.nodes() - 1));
      return;
    }
    placement.order = chance(70) ? topology::Placement::Order::block : topology::Placement::Order::round_robin;
    placement.ranks = from(1, made.machine.nodes() * placement.ranks_per_node);
  }

  void make_request(RandomCase& made) {
    Request& request = made.request;
    request.bytes_per_rank = chance(20) ? 0 : static_cast<Bytes>(from(1, 1 << 14)) << from(0, 10);
    for (std::int64_t rank = from(0, 20); chance(60) && rank < ranks_in(made.placement); rank += from(0, 20)) {
      const std::int64_t count = from(1, ranks_in(made.placement) - rank);
      request.exceptions.push_back({rank, count, chance(50) ? 0 : static_cast<Bytes>(from(0, 1 << 28))});
      rank += count;
    }
    request.pattern = static_cast<Pattern>(from(0, 2));
    request.variables = small(1, 30);
    request.sink = chance(50) ? Sink::storage : Sink::stagers;
    made.limits.aggregators_min = chance(80) ? 1 : small(1, 4);
    made.limits.aggregators_max = made.limits.aggregators_min + small(0, 20);
    made.limits.request_bytes = base::KiB << from(2, 14);
  }

  std::mt19937_64 random_;
};

}  // namespace glean::plan::test
