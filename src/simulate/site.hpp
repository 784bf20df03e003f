// SPDX-License-Identifier: BSD-3-Clause
//
// The machine's resources in a Work, made when a flow first passes them: what the machine file says, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "plan/plan.hpp"
#include "simulate/scenario.hpp"
#include "simulate/work.hpp"

namespace glean::simulate {

using topology::NodeId;

// I/O groups that do the same. One stands for all: its own resources are in the Work once, those that all groups share have
// `count` units for each of its bytes.
struct Crowd {
  const plan::GroupShape* shape = nullptr;
  topology::GroupId group = 0;         // the one that stands for them
  double count = 0;                    // a part of alike groups may be none that is whole, where several kinds share stagers
  double groups_of_stager = 0;         // that send to the same stager; 0: not divided yet
  std::int64_t ranks = 0;              // of the group
  double bytes = 0;                    // of the group
};

// A flow, while it is led through the machine; `alike`: so many of them go the same way in each group.
struct Path {
  double alike = 1;
  double message_bytes = 1;            // that it is cut into, where messages and requests cost something
  double bytes_per_second_max = unlimited;
  std::vector<Use> uses{};
};

struct Files {
  double count = 1;
  double clients_of_one = 1;           // I/O nodes, nodes or stagers that write into it
  double bytes = 0;                    // of all files
};

class Site {
 public:
  // The plan and the scenario live as long as the Site.
  Site(const Scenario& scenario, const plan::Plan& plan, Work& work);

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const topology::Machine& machine() const { return scenario_.machine; }
  [[nodiscard]] const plan::Plan& plan() const { return plan_; }
  [[nodiscard]] Work& work() { return work_; }
  [[nodiscard]] const std::vector<Crowd>& crowds() const { return crowds_; }
  [[nodiscard]] double groups() const;
  [[nodiscard]] std::int64_t stagers() const;
  // Nodes and I/O nodes that a file system sees: the way out of a group is one client, without one every node is.
  [[nodiscard]] double clients() const;
  // What a stager gets to the file system. One that the machine lends is a node, whose way out may not be its network.
  [[nodiscard]] double stager_out_bytes_per_second() const;
  [[nodiscard]] double targets_of(double files) const;   // that hold blocks of so many files
  [[nodiscard]] double ranks_at(const Crowd& crowd, NodeId position) const;

  // Groups stay together, and each stager gets as many as the others, or one more: crowds are split in two where it does not come out even.
  void send_groups_to_stagers();

  // Each adds what `path` passes. Positions are in the group of `crowds()[crowd]`.
  void over_network(Path& path, std::size_t crowd, NodeId from, NodeId to);
  void into_aggregator(Path& path, std::size_t crowd, NodeId position);
  void out_of_group(Path& path, std::size_t crowd, NodeId position, NodeId gateway);   // -1: no gateway
  void into_stager_of_group(Path& path, std::size_t crowd);
  void into_all_stagers(Path& path, std::size_t crowd);
  void out_of_stagers(Path& path);   // to the file system
  void into_files(Path& path, double flows, const Files& files);   // `flows`: in all groups or stagers

  // The gateway that a node has by default, by its position; -1: none.
  [[nodiscard]] NodeId default_gateway(std::size_t crowd, NodeId position) const;

  ActivityId add(std::string name, const Path& path, double bytes, double seconds, std::vector<ActivityId> after);
  ActivityId milestone(std::string name, std::vector<ActivityId> after);

 private:
  enum class Kind { link, aggregator, io_node, gateway, control, port, stager, network, rate, targets, servers, locks };
  using Key = std::tuple<Kind, std::int64_t, std::int64_t, std::int64_t>;
  ResourceId resource(const Key& key, const char* name, double units_per_second);
  void use(Path& path, const Key& key, const char* name, double units_per_second, double units_per_byte);

  const Scenario& scenario_;
  const plan::Plan& plan_;
  Work& work_;
  std::vector<Crowd> crowds_;
  std::map<Key, ResourceId> resources_;
};

}  // namespace glean::simulate
