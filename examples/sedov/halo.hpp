// SPDX-License-Identifier: BSD-3-Clause
//
// Fills the ghost cells of blocks without children: from blocks of the same level by copying, from finer ones by means, from coarser ones
// by interpolation, and at the faces of the domain by mirroring. What comes from other ranks comes in one message per pair of ranks.
#pragma once

#include <array>
#include <vector>

#include "messages.hpp"
#include "mesh.hpp"

namespace sedov {

class Halo {
 public:
  // Keeps a reference. Which rank sends what to which is worked out when the mesh has changed; every rank finds its part without
  // communication. Local.
  explicit Halo(Mesh& mesh) : mesh_(mesh) {}

  // Fills the two layers on both sides of every block along `axis` (0: x). Ghost cells at edges and corners of a block keep what they
  // had: sweeps along one axis do not read them. Collective, blocks.
  void exchange(int axis);
  // Along all axes. Collective, blocks.
  void exchange();

 private:
  struct Face {
    int block;
    Side side;
  };
  struct Axis {
    explicit Axis(int tag) : messages(tag) {}
    std::vector<Face> mirrored;   // at a face of the domain
    Messages messages;
  };

  void plan(int axis);
  void plan_face(int axis, int block, Side side);

  Mesh& mesh_;
  int planned_generation_ = -1;
  std::vector<Axis> axes_;
};

}  // namespace sedov
