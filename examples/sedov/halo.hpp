// SPDX-License-Identifier: BSD-3-Clause
//
// Fills the ghost cells: from blocks of the same rank by copying, from other ranks by one message per pair of
// ranks, and at the faces of the domain by mirroring.
#pragma once

#include <array>
#include <vector>

#include "mesh.hpp"

namespace sedov {

// What the solver needs of its neighbours.
inline constexpr std::array<int, 5> halo_variables = {dens, pres, velx, vely, velz};

class Halo {
 public:
  // Works out once which rank sends what to which; every rank finds its part without communication. Local.
  explicit Halo(Mesh& mesh);

  // Fills the two layers on both sides of every block along `axis` (0: x). Ghost cells at edges and corners
  // of a block keep what they had: sweeps along one axis do not read them. Collective, blocks.
  void exchange(int axis);

 private:
  enum class Side { lower, upper };
  struct Face {
    int block;   // whose ghost cells these are; its number among all blocks
    Side side;
    int source;  // the block that has the values
  };
  struct Peer {
    int rank = 0;
    std::vector<Face> send, receive;
    std::vector<double> send_buffer, receive_buffer;
  };
  struct Axis {
    std::vector<Face> inside, mirrored;   // both blocks on this rank; at a face of the domain
    std::vector<Peer> peers;
  };

  static Peer& peer(Axis& axis, int rank);
  void plan(int axis);
  // Two layers of the source that belong into the ghost cells of `face`, in the order of these.
  void read(int axis, const Face& face, bool mirror, double* out) const;
  void write(int axis, const Face& face, const double* in);

  Mesh& mesh_;
  std::array<Axis, 3> axes_;
};

}  // namespace sedov
