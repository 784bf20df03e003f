// SPDX-License-Identifier: BSD-3-Clause
//
// The tree along which nodes tell each other what all of them have to know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace glean::transport {

// The nodes of a job are numbered; of a job with stagers these have the last numbers. Without stagers it is a binary tree with node 0 as
// its root. With stagers they are a binary tree, the first of them is the root, and each other node hangs on one of them: nodes that follow
// each other on the same one, so that compute nodes never talk to each other. A value; memory does not grow with the nodes.
class Tree {
 public:
  Tree(int nodes, int stagers = 0) : nodes_(nodes), stagers_(stagers) {}

  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int stagers() const { return stagers_; }
  [[nodiscard]] int clients() const { return nodes_ - stagers_; }   // of the stagers; all nodes, where there are none
  [[nodiscard]] bool is_stager(int node) const { return stagers_ != 0 && node >= clients(); }
  [[nodiscard]] int root() const { return stagers_ == 0 ? 0 : clients(); }

  [[nodiscard]] std::optional<int> parent_of(int node) const {
    if (node == root()) return std::nullopt;
    if (stagers_ == 0 || is_stager(node)) return root() + (node - root() - 1) / 2;
    return stager_of(node);
  }
  [[nodiscard]] std::vector<int> children_of(int node) const {
    std::vector<int> children;
    if (stagers_ != 0 && !is_stager(node)) return children;
    const int place = node - root(), end = stagers_ == 0 ? nodes_ : stagers_;
    for (int child = 2 * place + 1; child <= 2 * place + 2 && child < end; ++child) children.push_back(root() + child);
    if (stagers_ == 0) return children;
    for (int client = first_client(place); client < first_client(place + 1); ++client) children.push_back(client);
    return children;
  }
  [[nodiscard]] std::vector<int> neighbours_of(int node) const {
    std::vector<int> neighbours = children_of(node);
    if (const auto parent = parent_of(node)) neighbours.push_back(*parent);
    return neighbours;
  }
  // The neighbour of `node` through which the tree leads to another one.
  [[nodiscard]] int way_to(int other, int node) const {
    if (stagers_ != 0 && !is_stager(node)) return stager_of(node);
    if (stagers_ != 0 && !is_stager(other)) {
      if (stager_of(other) == node) return other;
      other = stager_of(other);
    }
    const int place = node - root();
    for (int at = other - root(); at > place; at = (at - 1) / 2) {
      if ((at - 1) / 2 == place) return root() + at;   // below it
    }
    return root() + (place - 1) / 2;
  }

 private:
  [[nodiscard]] int stager_of(int client) const {
    return root() + static_cast<int>(std::int64_t{client} * stagers_ / clients());
  }
  [[nodiscard]] int first_client(int stager) const {
    return static_cast<int>((std::int64_t{stager} * clients() + stagers_ - 1) / stagers_);
  }

  int nodes_, stagers_;
};

}  // namespace glean::transport
