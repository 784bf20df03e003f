// SPDX-License-Identifier: BSD-3-Clause
//
// A machine as a value: nodes, the network between them, how data leaves it, and where it ends. Nothing here grows with the
// number of nodes: what belongs to a node is worked out when it is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"

namespace glean::topology {

using base::Bytes;

// Nodes are numbered 0 … nodes - 1, in the order in which the machine hands them out. A torus numbers them with the last
// dimension fastest.
using NodeId = std::int64_t;
using GroupId = std::int64_t;      // of an I/O group
using Coordinates = std::vector<int>;

// What the machine hands out of a torus to a job. What is empty is as in the whole machine.
struct TorusPart {
  std::vector<int> extents{};
  std::vector<bool> wraps{};
  std::vector<int> route_order{};
  friend bool operator==(const TorusPart&, const TorusPart&) = default;
};

// Mesh or torus of any dimension, routed dimension by dimension, each the shorter way round.
struct Torus {
  std::vector<int> extents{};
  std::vector<bool> wraps{};         // per dimension; false: a mesh in this dimension; empty: wraps in all
  std::vector<int> route_order{};    // dimensions, the one that is routed first first; a permutation; empty: as they come
  std::vector<int> ties{};           // per dimension, where both ways are equally long: +1 or -1; empty: +1
  double link_bytes_per_second = 0;  // each direction
  std::vector<double> dimension_bytes_per_second{};   // of the links of each dimension, where they differ; empty: they do not
  // 0: every position is a node. Otherwise the first so many; at the others are routers only, of service nodes perhaps.
  NodeId nodes = 0;
  std::vector<TorusPart> partitions{}; // what jobs can get, the preferred one of a size first; empty: any number of nodes
  friend bool operator==(const Torus&, const Torus&) = default;
};

// Switches in levels; level 0 are the leaves, with `down` nodes each; a switch of level l has `down` switches of level l - 1
// below it and `up` links to as many switches of level l + 1. Routes go up to the first common ancestor, by d-mod-k on the
// destination.
struct FatTree {
  struct Level {
    int down = 1;
    int up = 0;
    double link_bytes_per_second = 0;   // of the links below it
    friend bool operator==(const Level&, const Level&) = default;
  };
  NodeId nodes = 0;
  std::vector<Level> levels{};
  friend bool operator==(const FatTree&, const FatTree&) = default;
};

// Groups of routers that are all connected, and groups that are all connected: by as many links as there are routers for, or
// by one. Routes are minimal: local, global, local; which global link it is depends on the router of the destination.
struct Dragonfly {
  int groups = 1, routers_per_group = 1, nodes_per_router = 1;
  double node_bytes_per_second = 0, local_bytes_per_second = 0, global_bytes_per_second = 0;   // of each link
  NodeId nodes = 0;                  // 0: every place at a router has a node; otherwise the first so many
  friend bool operator==(const Dragonfly&, const Dragonfly&) = default;
};

using Network = std::variant<Torus, FatTree, Dragonfly>;

// A directed link from one vertex to another. Vertices 0 … nodes - 1 are nodes; what follows are switches or routers.
// Parallel links between the same two, as in a torus dimension of extent 2, are one.
struct Link {
  std::int64_t from = 0, to = 0;
  friend auto operator<=>(const Link&, const Link&) = default;
};

// How data leaves. I/O groups are boxes of a torus, or runs of consecutive nodes; all are alike but perhaps the last.
// Neither said: every node is a group.
struct WayOut {
  std::vector<int> group_extents{};      // torus: of the box of one group; they divide the extents of the torus
  NodeId nodes_per_group = 0;            // otherwise; also where a torus's groups are runs of nodes
  // Nodes through which a group's data leaves, by position inside it (as coordinates in the box, or one number). Empty: every
  // node has its own way out (a NIC), or a tree that all of the group share (BG/P). In a smaller last group, those beyond its
  // end are its last node.
  std::vector<std::vector<int>> gateways{};
  // default_gateway[i]: index into `gateways` that the i-th node of a group is assigned to when it boots; empty: equal runs.
  std::vector<int> default_gateway{};
  double gateway_bytes_per_second = 0;   // of each gateway's links out of the network
  // A second network that all nodes of a group share, to its I/O node (BG/P's collective network); 0: none.
  double tree_bytes_per_second = 0;
  // What the group's data passes together: I/O node or NIC.
  double group_bytes_per_second = 0;
  // Forwarding a message costs so long beside its bytes (control), and at most so many at once are served.
  double message_seconds = 0;
  int concurrent_messages = 0;           // 0: no limit
  friend bool operator==(const WayOut&, const WayOut&) = default;
};

struct FileSystem {
  std::string name{};                    // "gpfs", "lustre", "ext4", …
  Bytes block_bytes = 0;
  int stripe_count = 0;                  // 0: not striped by the user
  Bytes stripe_bytes = 0;
  int targets = 1;                       // file servers or OSTs
  double bytes_per_second = 0;           // all of it
  double target_bytes_per_second = 0;
  // What every write request, and creating a file, takes at its server.
  double request_seconds = 0, create_seconds = 0;
  // What programs get of all of it over the time of a checkpoint, beside what it is rated at; 0: as rated.
  double sustained_bytes_per_second = 0;
  // A request to a file into which several clients write: its server of locks grants one after the other.
  double lock_seconds = 0;
  double directory_create_seconds = 0;   // of each file, where many clients create theirs in one directory at once; 0: as otherwise
  friend bool operator==(const FileSystem&, const FileSystem&) = default;
};

// Nodes beside the machine that take its data before a file system does (Eureka, for Intrepid).
struct Staging {
  NodeId nodes = 0;
  double bytes_per_second = 0;           // that each receives; the same to the file system at the same time
  double network_bytes_per_second = 0;   // of the network to them and on to the file system; 0: no limit
  friend bool operator==(const Staging&, const Staging&) = default;
};

// What matters of every node.
struct NodeKind {
  int cores = 1;
  int numa_nodes = 1;
  Bytes memory_bytes = 0;
  double copy_bytes_per_second = 0;      // one core, memory to memory
  double memory_bytes_per_second = 0;    // all that copy at once, together; 0: each has what one has
  double receive_bytes_per_second = 0;   // what one rank takes in of the messages of many others; 0: as it copies
  friend bool operator==(const NodeKind&, const NodeKind&) = default;
};

struct Machine {
  std::string name{};
  std::string description{};             // a line, with its source
  NodeKind node{};
  Network network{};
  WayOut way_out{};
  FileSystem file_system{};
  Staging staging{};
  double message_seconds = 0;            // software cost of one message between nodes
  // Collective writing by MPI-IO: what each pair of ranks exchanges of offsets and sizes, software and headers included (0: a message),
  // and how many nodes of an I/O group aggregate (0: all that write).
  Bytes offset_bytes = 0;
  int collective_aggregators = 0;
  friend bool operator==(const Machine&, const Machine&) = default;

  // -- all O(dimensions) or O(levels); nodes are valid ones
  [[nodiscard]] NodeId nodes() const;
  [[nodiscard]] Coordinates coordinates(NodeId node) const;         // torus: position; others: switch or group, …, node
  [[nodiscard]] std::optional<NodeId> node_at(const Coordinates& position) const;
  [[nodiscard]] int hops(NodeId from, NodeId to) const;
  // Deterministic: the links from one node to another, in order. None from a node to itself.
  [[nodiscard]] std::vector<Link> route(NodeId from, NodeId to) const;
  // Nodes that a route passes, with its ends (switches are left out).
  [[nodiscard]] std::vector<NodeId> nodes_on_route(NodeId from, NodeId to) const;
  [[nodiscard]] double bytes_per_second(const Link& link) const;
  [[nodiscard]] std::vector<NodeId> neighbours(NodeId node) const;  // one link away; not torus: on the same switch or router

  [[nodiscard]] GroupId groups() const;
  [[nodiscard]] GroupId group_of(NodeId node) const;
  [[nodiscard]] NodeId group_size(GroupId group) const;
  [[nodiscard]] NodeId node_in_group(GroupId group, NodeId index) const;
  [[nodiscard]] NodeId index_in_group(NodeId node) const;
  [[nodiscard]] std::vector<NodeId> gateways(GroupId group) const;
  [[nodiscard]] std::optional<NodeId> default_gateway(NodeId node) const;
};

// What cannot be about a machine, a line each: extents that are not positive, a permutation that is none, gateways outside of
// their group, more nodes than the levels of a fat tree have room for, … Empty: all of the above can be asked.
[[nodiscard]] std::vector<std::string> problems_of(const Machine& machine);

// A part of a machine as a job gets it: the first `nodes` nodes, where that is a shape the machine hands out; a torus gets the
// extents that its `partitions` say. Throws invalid_argument when it has none such, naming those next to it.
[[nodiscard]] Machine partition(const Machine& machine, NodeId nodes);

// Which rank runs on which node. Regular placements are a few numbers; what is discovered is a list, for the ranks of a few
// nodes only.
struct Placement {
  enum class Order { block, round_robin };
  std::int64_t ranks = 1;
  int ranks_per_node = 1;
  Order order = Order::block;
  std::vector<NodeId> listed{};          // not empty: node of each rank, and the rest does not count
  friend bool operator==(const Placement&, const Placement&) = default;

  [[nodiscard]] NodeId node_of(std::int64_t rank) const;
  [[nodiscard]] NodeId nodes() const;    // in use: 1 + the highest
  [[nodiscard]] std::vector<std::int64_t> ranks_of(NodeId node) const;
};

}  // namespace glean::topology
