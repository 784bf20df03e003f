// SPDX-License-Identifier: BSD-3-Clause
#include "session/nodes.hpp"

#include <cstdint>

#include "session/agreement.hpp"

namespace glean::session {

Nodes::Nodes(MPI_Comm comm, int ranks_per_node) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (ranks_per_node > 0) MPI_Comm_split(comm, rank / ranks_per_node, rank, &node_);
  else MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_);
  MPI_Comm_rank(node_, &rank_);
  MPI_Comm_size(node_, &ranks_);
  MPI_Comm_split(comm, is_aggregator() ? 0 : MPI_UNDEFINED, rank, &aggregators_);
  int place[2] = {count_, self_};
  if (is_aggregator()) {
    MPI_Comm_size(aggregators_, &place[0]);
    MPI_Comm_rank(aggregators_, &place[1]);
  }
  MPI_Bcast(place, 2, MPI_INT, 0, node_);
  count_ = place[0];
  self_ = place[1];
}

void Nodes::release() {
  if (aggregators_ != MPI_COMM_NULL) MPI_Comm_free(&aggregators_);
  MPI_Comm_free(&node_);
}

bool mpi_runs() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

std::map<std::string, std::string> from_root(MPI_Comm comm, const std::map<std::string, std::string>& of_root) {
  std::string text;
  for (const auto& [name, value] : of_root) text += name + '\0' + value + '\0';
  std::uint64_t bytes = text.size();
  broadcast(comm, 0, &bytes, sizeof bytes);
  text.resize(bytes);
  broadcast(comm, 0, text.data(), text.size());
  std::map<std::string, std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::string name = text.c_str() + at;
    const std::string value = text.c_str() + at + name.size() + 1;
    at += name.size() + value.size() + 2;
    all[name] = value;
  }
  return all;
}

}  // namespace glean::session
