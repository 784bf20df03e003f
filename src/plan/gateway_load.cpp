// SPDX-License-Identifier: BSD-3-Clause
#include "plan/gateway_load.hpp"

#include <cmath>
#include <map>
#include <unordered_map>

namespace glean::plan {

using topology::NodeId;

Bytes GatewayTraffic::bytes_of_node() const { return static_cast<Bytes>(ranks_per_node) * bytes_per_rank; }

std::int64_t GatewayTraffic::messages_of_node() const {
  const auto messages_of = [&](Bytes write_bytes) {
    return static_cast<std::int64_t>(message_bytes == 0 ? 1 : (write_bytes + message_bytes - 1) / message_bytes);
  };
  return write == Write::of_node ? messages_of(bytes_of_node()) : ranks_per_node * messages_of(bytes_per_rank);
}

NetworkLoad count_load(const topology::Machine& machine, std::span<const GatewayAssignment> assignments,
                       const GatewayTraffic& traffic) {
  NetworkLoad load;
  std::unordered_map<NodeId, std::size_t> place;   // of a gateway in load.gateways
  for (const auto& assignment : assignments) {
    for (const NodeId gateway : assignment.gateways) {
      place.emplace(gateway, load.gateways.size());
      load.gateways.push_back({.gateway = gateway});
    }
  }

  const std::int64_t messages = traffic.messages_of_node();
  std::map<topology::Link, std::int64_t> links;
  for (const auto& assignment : assignments) {
    for (std::size_t index = 0; index < assignment.nodes.size(); ++index) {
      const auto& assigned = assignment.nodes[index];
      const NodeId node = machine.node_in_group(assignment.group, static_cast<NodeId>(index));
      const NodeId gateway = assignment.gateways[static_cast<std::size_t>(assigned.gateway)];
      auto& goal = load.gateways[place.at(gateway)];
      goal.own += messages;
      if (assigned.reassigned && node != gateway) {
        goal.on_behalf += messages;
        goal.held_bytes += traffic.bytes_of_node();
      }
      for (const auto& link : machine.route(node, gateway)) {
        links[link] += messages;
        const auto passed = link.from == node ? place.end() : place.find(link.from);
        if (passed != place.end()) load.gateways[passed->second].transit += messages;
      }
    }
  }
  for (const auto& [link, count] : links) load.links.push_back({.link = link, .messages = count});
  return load;
}

LoadSpread spread(std::span<const GatewayLoad> gateways) {
  const auto count = static_cast<double>(gateways.size());
  double sum = 0, squares = 0;
  for (const auto& gateway : gateways) sum += static_cast<double>(gateway.through());
  const double mean = count > 0 ? sum / count : 0;
  for (const auto& gateway : gateways) squares += std::pow(static_cast<double>(gateway.through()) - mean, 2);
  return {.mean = mean, .deviation = mean > 0 ? std::sqrt(squares / count) / mean : 0};
}

}  // namespace glean::plan
