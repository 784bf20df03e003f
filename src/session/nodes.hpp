// SPDX-License-Identifier: BSD-3-Clause
//
// On which node each rank of a session is. Communicators are made once and used until the session ends (seed 000, 4.1).
#pragma once

#include <mpi.h>

#include <map>
#include <string>

namespace glean::session {

class Nodes {
 public:
  // Ranks that share memory are on a node. `ranks_per_node`: those that follow each other are, so many on each, as if there
  // were as many nodes; 0: as it is. Collective over `comm`, which must live as long.
  Nodes(MPI_Comm comm, int ranks_per_node);
  // Gives the communicators back. Collective. Without it they are left to MPI_Finalize.
  void release();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int self() const { return self_; }                      // in the order of their lowest ranks
  [[nodiscard]] int ranks() const { return ranks_; }                    // of this node
  [[nodiscard]] int rank() const { return rank_; }                      // on this node
  [[nodiscard]] bool is_aggregator() const { return rank_ == 0; }       // it drains the node, and talks to the other nodes
  [[nodiscard]] MPI_Comm comm() const { return node_; }                 // the ranks of this node
  [[nodiscard]] MPI_Comm aggregators() const { return aggregators_; }   // rank 0 of every node; MPI_COMM_NULL on the others

 private:
  MPI_Comm node_ = MPI_COMM_NULL, aggregators_ = MPI_COMM_NULL;
  int count_ = 1, self_ = 0, ranks_ = 1, rank_ = 0;
};

// MPI is initialized and not finalized. Local.
[[nodiscard]] bool mpi_runs();

// What rank 0 has, on all ranks of `comm`. Collective.
[[nodiscard]] std::map<std::string, std::string> from_root(MPI_Comm comm, const std::map<std::string, std::string>& of_root);

}  // namespace glean::session
