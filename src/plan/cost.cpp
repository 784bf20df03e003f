// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/spread.hpp"
#include "plan/traffic.hpp"

namespace glean::plan {
namespace {

double divided(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

// The slower of two rates, of which 0 is none.
double slower_of(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

// As in the pipeline: what is not a whole piece is a message all the same.
double pieces(double bytes, Bytes piece) { return bytes > 0 ? std::ceil(bytes / static_cast<double>(piece)) : 0; }

// What all nodes send to their aggregators, by node; an aggregator has its own.
std::vector<Flow> gathering(const Situation& situation, const Subgroups& subgroups) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < situation.load.nodes.size(); ++i) {
    const int aggregator = subgroups.aggregator[static_cast<std::size_t>(subgroups.of_node[i])];
    const NodeLoad& node = situation.load.nodes[i];
    flows.push_back({node.node, situation.load.nodes[static_cast<std::size_t>(aggregator)].node, static_cast<double>(node.bytes)});
  }
  return flows;
}

class Estimate {
 public:
  Estimate(const Situation& situation, const Subgroups& subgroups, const std::vector<Flow>& flows, double link_seconds,
           std::int64_t files)
      : situation_(situation),
        machine_(situation.machine),
        subgroups_(subgroups),
        flows_(flows),
        link_seconds_(link_seconds),
        files_(files),
        to_storage_(situation.request.sink == Sink::storage),
        aggregators_(static_cast<double>(subgroups.aggregator.size())),
        window_(situation.window_bytes(subgroups.aggregator.size())),
        busiest_(static_cast<double>(bytes_of_busiest_aggregator(situation, subgroups))) {
    if (to_storage_) spread_ = spread_of(situation, files);
  }

  Cost make() {
    gather();
    forward();
    if (to_storage_) store();
    // Piece by piece the stages work at the same time; the first piece has to pass all of them alone.
    const double stages[] = {cost_.gather(), cost_.forward(), cost_.store()};
    const double slowest = *std::max_element(std::begin(stages), std::end(stages));
    const double others = stages[0] + stages[1] + stages[2] - slowest;
    cost_.total = cost_.create + slowest + others / std::max(1.0, pieces(busiest_, situation_.limits.piece_bytes));
    return cost_;
  }

 private:
  void gather() {
    std::vector<double> messages(subgroups_.aggregator.size()), bytes(subgroups_.aggregator.size());
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (flows_[i].from == flows_[i].to) continue;
      const std::size_t to = static_cast<std::size_t>(subgroups_.of_node[i]);
      const double moved = flows_[i].bytes * (1 - spread_.leaving);
      messages[to] += pieces(moved, situation_.limits.piece_bytes);
      bytes[to] += moved;
    }
    cost_.gather_links = link_seconds_ * (1 - spread_.leaving);
    cost_.gather_messages = *std::max_element(messages.begin(), messages.end()) * machine_.message_seconds;
    cost_.gather_copy = divided(*std::max_element(bytes.begin(), bytes.end()), machine_.node.copy_bytes_per_second);
    if (spread_.leaving > 0) exchange();
  }

  // A node's data meet the aggregators of the part of the file that they are spread over; each aggregator hears of all of those.
  void exchange() {
    const double nodes = static_cast<double>(situation_.load.nodes.size());
    const double groups_in_file = static_cast<double>(situation_.groups) / static_cast<double>(files_);
    const double aggregators_in_file = groups_in_file * aggregators_;
    const double bytes_of_node = static_cast<double>(situation_.load.bytes()) * spread_.leaving / nodes;
    const double met = std::clamp(std::ceil(aggregators_in_file * spread_.of_node), 1.0, aggregators_in_file);
    const double messages_to_one = nodes / aggregators_ * met * std::max(1.0, pieces(bytes_of_node / met, situation_.limits.piece_bytes));
    const double in = divided(bytes_of_node * nodes / aggregators_, node_bytes_per_second(machine_, 0));
    cost_.exchange = messages_to_one * machine_.message_seconds +
                     std::max(in, all_to_all_seconds(machine_, bytes_of_node, nodes * static_cast<double>(situation_.groups)));
  }

  void forward() {
    const topology::WayOut& out = machine_.way_out;
    const Bytes unit = to_storage_ ? window_ : situation_.limits.piece_bytes;
    double bytes = 0, messages = 0;
    std::vector<Flow> to_gateways;
    std::map<NodeId, double> by_gateway;
    for (std::size_t part = 0; part < subgroups_.aggregator.size(); ++part) {
      const NodeLoad& node = situation_.load.nodes[static_cast<std::size_t>(subgroups_.aggregator[part])];
      const double its = to_storage_ ? busiest_ : static_cast<double>(subgroups_.bytes[part]);
      bytes += its;
      messages += pieces(its, unit);
      if (node.gateway >= 0) {
        to_gateways.push_back({node.node, node.gateway, its});
        by_gateway[node.gateway] += its;
      }
    }
    const double slower = slower_of(out.tree_bytes_per_second, out.group_bytes_per_second);
    // The I/O node serves a message with one of its threads, which has its share of what the I/O node can do.
    const double used = out.concurrent_messages > 0 ? std::min(1.0, aggregators_ / out.concurrent_messages) : 1;
    cost_.forward_bytes = divided(bytes, slower * used);
    for (const auto& [gateway, its] : by_gateway) {
      cost_.forward_bytes = std::max(cost_.forward_bytes, divided(its, out.gateway_bytes_per_second));
    }
    cost_.forward_bytes = std::max(cost_.forward_bytes, busiest_link_seconds(machine_, to_gateways));
    const bool through_one = slower > 0 || !by_gateway.empty();
    if (by_gateway.empty() && out.tree_bytes_per_second == 0) {   // every node has a way out of its own
      const double rate = out.gateway_bytes_per_second > 0 ? out.gateway_bytes_per_second : node_bytes_per_second(machine_, 0);
      cost_.forward_bytes = std::max(cost_.forward_bytes, divided(busiest_, rate));
    }
    cost_.forward_messages = (through_one ? messages : pieces(busiest_, unit)) * out.message_seconds;
  }

  // All groups write at the same time. Files begin and end with a block that is not whole.
  void store() {
    const topology::FileSystem& system = machine_.file_system;
    const double files = static_cast<double>(files_);
    const Bytes block = unit_bytes(system);
    const double of_file = static_cast<double>(situation_.bytes_of_all) / files;
    const double bytes = files * std::ceil(of_file / static_cast<double>(block)) * static_cast<double>(block);
    const double targets = std::max(1.0, system.stripe_count > 0 ? std::min<double>(system.targets, files * system.stripe_count)
                                                                 : static_cast<double>(system.targets));
    cost_.store_bytes = std::max(divided(bytes, system.bytes_per_second), divided(bytes, targets * system.target_bytes_per_second));
    const double requests = files * pieces(of_file, window_);
    cost_.store_requests = std::ceil(requests / targets) * system.request_seconds;
    cost_.create = files * system.create_seconds;
  }

  const Situation& situation_;
  const topology::Machine& machine_;
  const Subgroups& subgroups_;
  const std::vector<Flow>& flows_;
  double link_seconds_;   // with nothing leaving the group
  std::int64_t files_;
  bool to_storage_;
  double aggregators_;
  Bytes window_;
  double busiest_;
  Spread spread_;
  Cost cost_;
};

}  // namespace

Bytes Situation::share_bytes(std::size_t aggregators) const {
  const Bytes all = static_cast<Bytes>(groups) * aggregators;
  return bytes_of_all / all + (bytes_of_all % all != 0 ? 1 : 0);
}

Bytes bytes_of_busiest_aggregator(const Situation& situation, const Subgroups& subgroups) {
  if (situation.request.sink == Sink::stagers) return subgroups.most();
  // A domain has a window at least.
  const std::size_t aggregators = subgroups.aggregator.size();
  return std::max(situation.share_bytes(aggregators), std::min(situation.window_bytes(aggregators), situation.bytes_of_all));
}

std::vector<Cost> costs_of(const Situation& situation, const Subgroups& subgroups, const std::vector<std::int64_t>& files) {
  const std::vector<Flow> flows = gathering(situation, subgroups);
  const double link_seconds = busiest_link_seconds(situation.machine, flows);
  std::vector<Cost> costs;
  for (const std::int64_t each : files) costs.push_back(Estimate(situation, subgroups, flows, link_seconds, each).make());
  return costs;
}

}  // namespace glean::plan
