// SPDX-License-Identifier: BSD-3-Clause
//
// What an assignment of nodes to gateways loads on gateways and links, by counting routes (seed 003, section 4.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/gateways.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

using base::Bytes;

// What every node writes. Reassigned nodes do not write: they send to their gateway, which writes on their behalf, one write for
// each that it has received ("modified write").
struct GatewayTraffic {
  enum class Write { of_rank, of_node };   // of_node: the ranks of a node combine their data first ("coalesced")
  int ranks_per_node = 1;
  Bytes bytes_per_rank = 0;
  Bytes message_bytes = 0;                 // a write is cut into messages of at most so much; 0: it is one
  Write write = Write::of_rank;

  [[nodiscard]] Bytes bytes_of_node() const;
  [[nodiscard]] std::int64_t messages_of_node() const;
};

struct GatewayLoad {
  topology::NodeId gateway = 0;
  std::int64_t own = 0;         // messages of the nodes that it is assigned to, itself among them
  std::int64_t transit = 0;     // messages on their way to other gateways
  std::int64_t on_behalf = 0;   // part of `own`: received from reassigned nodes
  Bytes held_bytes = 0;         // data of reassigned nodes, if it holds all of it at once
  [[nodiscard]] std::int64_t through() const { return own + transit; }
  friend bool operator==(const GatewayLoad&, const GatewayLoad&) = default;
};

struct LinkLoad {
  topology::Link link;
  std::int64_t messages = 0;
  friend bool operator==(const LinkLoad&, const LinkLoad&) = default;
};

struct NetworkLoad {
  std::vector<GatewayLoad> gateways;   // in the order of the assignments
  std::vector<LinkLoad> links;         // those that are used, in their order
};

// Every group sends as its assignment says. Transit is counted at the gateways of all of them. Pure. Cost: O(nodes * hops).
[[nodiscard]] NetworkLoad count_load(const topology::Machine& machine, std::span<const GatewayAssignment> assignments,
                                     const GatewayTraffic& traffic);

// The spread of the messages through each gateway; the deviation is that of all of them, divided by the mean.
struct LoadSpread {
  double mean = 0;
  double deviation = 0;
};
[[nodiscard]] LoadSpread spread(std::span<const GatewayLoad> gateways);

}  // namespace glean::plan
