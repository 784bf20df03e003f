// SPDX-License-Identifier: BSD-3-Clause
#include "halo.hpp"

#include <algorithm>
#include <tuple>

namespace sedov {

namespace {

constexpr std::size_t layer_values = std::size_t{block_cells} * block_cells;
constexpr std::size_t face_values = halo_variables.size() * ghost_cells * layer_values;

struct Across {   // strides in a layer
  std::ptrdiff_t fast, slow;
};

Across across(int axis) {
  if (axis == 0) return {cell_stride[1], cell_stride[2]};
  if (axis == 1) return {cell_stride[0], cell_stride[2]};
  return {cell_stride[0], cell_stride[1]};
}

}  // namespace

Halo::Halo(Mesh& mesh) : mesh_(mesh) {
  for (int axis = 0; axis < 3; ++axis) plan(axis);
}

Halo::Peer& Halo::peer(Axis& axis, int rank) {
  const auto found =
      std::find_if(axis.peers.begin(), axis.peers.end(), [rank](const Peer& p) { return p.rank == rank; });
  if (found != axis.peers.end()) return *found;
  Peer& made = axis.peers.emplace_back();
  made.rank = rank;
  return made;
}

void Halo::plan(int axis_index) {
  Axis& axis = axes_[static_cast<std::size_t>(axis_index)];
  for (int local = 0; local < mesh_.block_count(); ++local) {
    const int block = mesh_.first_block() + local;
    const int self = mesh_.owner(block);
    for (const Side side : {Side::lower, Side::upper}) {
      Position beside = mesh_.position(block);
      beside[static_cast<std::size_t>(axis_index)] += side == Side::lower ? -1 : 1;
      if (!mesh_.inside(beside)) {
        axis.mirrored.push_back({block, side, block});
        continue;
      }
      const int neighbour = mesh_.block_at(beside);
      const int owner = mesh_.owner(neighbour);
      if (owner == self) {
        axis.inside.push_back({block, side, neighbour});
        continue;
      }
      const Side opposite = side == Side::lower ? Side::upper : Side::lower;
      peer(axis, owner).receive.push_back({block, side, neighbour});
      peer(axis, owner).send.push_back({neighbour, opposite, block});
    }
  }
  // Sender and receiver must agree on the order without asking each other.
  const auto by_destination = [](const Face& a, const Face& b) {
    return std::tie(a.block, a.side) < std::tie(b.block, b.side);
  };
  for (Peer& peer : axis.peers) {
    std::sort(peer.send.begin(), peer.send.end(), by_destination);
    std::sort(peer.receive.begin(), peer.receive.end(), by_destination);
    peer.send_buffer.resize(peer.send.size() * face_values);
    peer.receive_buffer.resize(peer.receive.size() * face_values);
  }
}

void Halo::read(int axis, const Face& face, bool mirror, double* out) const {
  const Across stride = across(axis);
  const std::ptrdiff_t along = cell_stride[static_cast<std::size_t>(axis)];
  const std::ptrdiff_t corner = ghost_cells * (stride.fast + stride.slow);
  const bool lower = face.side == Side::lower;
  // Ghost cells below a block are the last cells of the block below it, or its own first cells in reverse.
  const int first = mirror ? (lower ? ghost_cells + 1 : ghost_cells + block_cells - 1)
                           : (lower ? block_cells : ghost_cells);
  const int step = mirror ? -1 : 1;
  for (const int variable : halo_variables) {
    const double sign = mirror && variable == velx + axis ? -1.0 : 1.0;
    const double* cells = mesh_.cells(face.source - mesh_.first_block(), variable);
    for (int layer = 0; layer < ghost_cells; ++layer) {
      const double* start = cells + (first + step * layer) * along + corner;
      for (int slow = 0; slow < block_cells; ++slow) {
        const double* row = start + slow * stride.slow;
        for (int fast = 0; fast < block_cells; ++fast) *out++ = sign * row[fast * stride.fast];
      }
    }
  }
}

void Halo::write(int axis, const Face& face, const double* in) {
  const Across stride = across(axis);
  const std::ptrdiff_t along = cell_stride[static_cast<std::size_t>(axis)];
  const std::ptrdiff_t corner = ghost_cells * (stride.fast + stride.slow);
  const int first = face.side == Side::lower ? 0 : ghost_cells + block_cells;
  for (const int variable : halo_variables) {
    double* cells = mesh_.cells(face.block - mesh_.first_block(), variable);
    for (int layer = 0; layer < ghost_cells; ++layer) {
      double* start = cells + (first + layer) * along + corner;
      for (int slow = 0; slow < block_cells; ++slow) {
        double* row = start + slow * stride.slow;
        for (int fast = 0; fast < block_cells; ++fast) row[fast * stride.fast] = *in++;
      }
    }
  }
}

void Halo::exchange(int axis_index) {
  Axis& axis = axes_[static_cast<std::size_t>(axis_index)];
  std::vector<MPI_Request> receives, sends;
  for (Peer& peer : axis.peers) {
    MPI_Irecv(peer.receive_buffer.data(), static_cast<int>(peer.receive_buffer.size()), MPI_DOUBLE, peer.rank,
              axis_index, mesh_.comm(), &receives.emplace_back());
  }
  for (Peer& peer : axis.peers) {
    double* out = peer.send_buffer.data();
    for (const Face& face : peer.send) {
      read(axis_index, face, false, out);
      out += face_values;
    }
    MPI_Isend(peer.send_buffer.data(), static_cast<int>(peer.send_buffer.size()), MPI_DOUBLE, peer.rank,
              axis_index, mesh_.comm(), &sends.emplace_back());
  }

  std::array<double, face_values> values;
  for (const Face& face : axis.inside) {
    read(axis_index, face, false, values.data());
    write(axis_index, face, values.data());
  }
  for (const Face& face : axis.mirrored) {
    read(axis_index, face, true, values.data());
    write(axis_index, face, values.data());
  }

  for (std::size_t arrived = 0; arrived < receives.size(); ++arrived) {
    int index = 0;
    MPI_Waitany(static_cast<int>(receives.size()), receives.data(), &index, MPI_STATUS_IGNORE);
    const Peer& peer = axis.peers[static_cast<std::size_t>(index)];
    const double* in = peer.receive_buffer.data();
    for (const Face& face : peer.receive) {
      write(axis_index, face, in);
      in += face_values;
    }
  }
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

}  // namespace sedov
