// SPDX-License-Identifier: BSD-3-Clause
//
// Machines for the tests of the planner, as values. The figures are those that the papers state as properties of the machines
// (published parameters); what is assumed says so.
#pragma once

#include "base/bytes.hpp"
#include "topology/machine.hpp"

namespace glean::plan::test {

using base::GiB;
using base::MiB;
using topology::Machine;

// Blue Gene/P: psets of 4 x 4 x 4 nodes, each behind a tree and an I/O node (seed 000, section 2).
inline Machine blue_gene_p(std::vector<int> extents = {8, 8, 16}) {
  Machine machine;
  machine.name = "blue gene/p";
  machine.node = {.cores = 4, .memory_bytes = 2 * GiB, .copy_bytes_per_second = 2e9};       // copy: assumed
  machine.network = topology::Torus{.extents = std::move(extents), .link_bytes_per_second = 425e6};
  machine.way_out.group_extents = {4, 4, 4};
  machine.way_out.tree_bytes_per_second = 731.0 * MiB;    // payload ceiling
  // 1 MiB messages sustain 680 MiB/s of it: control takes the difference. The I/O node has four cores.
  machine.way_out.message_seconds = 1 / 680.0 - 1 / 731.0;
  machine.way_out.concurrent_messages = 4;
  machine.file_system = {.name = "gpfs", .block_bytes = 4 * MiB, .targets = 128, .bytes_per_second = 47e9};
  machine.message_seconds = 3e-6;                         // assumed
  return machine;
}

// Blue Gene/Q: 512 nodes, groups of 128 behind two bridge nodes and one I/O node (seeds 002 and 003).
inline Machine blue_gene_q() {
  Machine machine;
  machine.name = "blue gene/q";
  machine.node = {.cores = 16, .memory_bytes = 16 * GiB, .copy_bytes_per_second = 10e9};    // copy: assumed
  machine.network = topology::Torus{.extents = {4, 4, 4, 4, 2}, .link_bytes_per_second = 2e9};
  machine.way_out.group_extents = {2, 4, 4, 2, 2};
  machine.way_out.gateways = {{0, 0, 0, 0, 0}, {1, 2, 2, 0, 0}};                            // where: assumed
  machine.way_out.gateway_bytes_per_second = 2e9;
  machine.way_out.group_bytes_per_second = 4e9;
  machine.way_out.message_seconds = 30e-6;                // assumed
  machine.way_out.concurrent_messages = 16;               // cores of the I/O node
  machine.file_system = {.name = "gpfs", .block_bytes = 8 * MiB, .targets = 32, .bytes_per_second = 240e9};
  machine.message_seconds = 1.2e-6;
  return machine;
}

// Nodes on one switch, each with a way out of its own; Lustre with the defaults that seed 002 warns of.
inline Machine cluster(topology::NodeId nodes, topology::NodeId nodes_per_group = 1) {
  Machine machine;
  machine.name = "cluster";
  machine.node = {.cores = 32, .memory_bytes = 128 * GiB, .copy_bytes_per_second = 8e9};
  machine.network = topology::FatTree{.nodes = nodes, .levels = {{.down = static_cast<int>(nodes), .link_bytes_per_second = 12.5e9}}};
  machine.way_out.nodes_per_group = nodes_per_group;
  machine.way_out.message_seconds = 5e-6;
  machine.file_system = {.name = "lustre", .block_bytes = 4096, .stripe_count = 4, .stripe_bytes = MiB, .targets = 56,
                         .bytes_per_second = 210e9, .target_bytes_per_second = 3.75e9, .request_seconds = 100e-6,
                         .create_seconds = 500e-6};
  machine.message_seconds = 1.5e-6;
  return machine;
}

}  // namespace glean::plan::test
