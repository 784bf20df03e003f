// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "messages.hpp"
#include "refinement.hpp"
#include "resample.hpp"

namespace sedov {

namespace {

constexpr int restriction_tag = 6, redistribution_tag = 7;   // after those of ghost cells and fluxes

// `where` of a part of a new block: a block of the same place gives all it has; a parent a child, which is one of eight.
constexpr int same_place = 8;

// Every rank finds what its new blocks are made of, and what is made of its old ones.
Messages plan_redistribution(const Mesh& mesh, const Mesh& next, int rank) {
  Messages messages(redistribution_tag);
  for (int local = 0; local < next.block_count(); ++local) {
    const int block = next.first_block() + local;
    const Place place = next.tree().place(block);
    int source = mesh.tree().find(place), where = same_place;
    if (source < 0) {
      source = mesh.tree().find(parent_of(place));
      where = child_number(place);
    }
    messages.add({source, block, where, block_values}, mesh.owner(source), rank, rank);
  }
  for (int local = 0; local < mesh.block_count(); ++local) {
    const int block = mesh.first_block() + local;
    const auto give = [&](int destination, int where) {
      const int owner = next.owner(destination);
      if (owner != rank) messages.add({block, destination, where, block_values}, rank, owner, rank);
    };
    const int same = next.tree().find(mesh.tree().place(block));
    if (same < 0) continue;   // a child that goes
    give(same, same_place);
    if (!mesh.is_leaf(local) || next.tree().is_leaf(same)) continue;
    const auto children = next.tree().children(same);
    for (int child = 0; child < 8; ++child) give(children[static_cast<std::size_t>(child)], child);
  }
  messages.complete();
  return messages;
}

// Of all parents of a level.
Messages plan_restriction(const Mesh& mesh, int level) {
  Messages messages(restriction_tag);
  for (int local = 0; local < mesh.block_count(); ++local) {
    const int block = mesh.first_block() + local, self = mesh.owner(block);
    if (mesh.level(local) == level && !mesh.is_leaf(local)) {
      const auto children = mesh.tree().children(block);
      for (int i = 0; i < 8; ++i) {
        const int child = children[static_cast<std::size_t>(i)];
        messages.add({child, block, i, octant_values}, mesh.owner(child), self, self);
      }
    } else if (mesh.level(local) == level + 1) {
      const int parent = mesh.tree().parent(block), owner = mesh.owner(parent);
      const int child = child_number(mesh.tree().place(block));
      if (owner != self) messages.add({block, parent, child, octant_values}, self, owner, self);
    }
  }
  messages.complete();
  return messages;
}

}  // namespace

void restrict_to_parents(Mesh& mesh) {
  for (int level = mesh.levels() - 1; level >= 1; --level) {
    plan_restriction(mesh, level)
        .exchange(
            mesh.comm(), [&](const Part& part, double* values) { read_means(mesh, part.source - mesh.first_block(), values); },
            [&](const Part& part, const double* values) {
              write_octant(mesh, part.destination - mesh.first_block(), part.where, values);
            });
  }
}

void redistribute(Mesh& mesh, const Tree& tree) {
  int rank = 0;
  MPI_Comm_rank(mesh.comm(), &rank);
  Mesh next = mesh.with(tree);
  const auto pack = [&](const Part& part, double* values) {
    const int block = part.source - mesh.first_block();
    if (part.where == same_place) read_block(mesh, block, values);
    else read_child(mesh, block, part.where, values);
  };
  const auto unpack = [&](const Part& part, const double* values) {
    write_block(next, part.destination - next.first_block(), values);
  };
  plan_redistribution(mesh, next, rank).exchange(mesh.comm(), pack, unpack);
  mesh.become(std::move(next));
}

}  // namespace sedov
