// SPDX-License-Identifier: BSD-3-Clause
//
// What an element sees of its neighbours: the six components on their side of a face.
#pragma once

#include <mpi.h>

#include <vector>

#include "mesh.hpp"
#include "waveguide.hpp"

namespace nekcem {

// As NekCEM does it, all components of all faces that two ranks share travel in one message per stage. `comm` and `mesh` must outlive it.
class FaceExchange {
 public:
  FaceExchange(MPI_Comm comm, const Mesh& mesh);
  FaceExchange(const FaceExchange&) = delete;
  FaceExchange& operator=(const FaceExchange&) = delete;

  // The values of this rank on one face of its element `local`: [component][point], to be filled before start().
  [[nodiscard]] double* inside(std::size_t local, int face) { return own_.data() + place(local, face); }
  [[nodiscard]] const double* inside(std::size_t local, int face) const { return own_.data() + place(local, face); }
  // The neighbour's values at the same points, null at a wall. Those of other ranks are there after finish().
  [[nodiscard]] const double* outside(std::size_t local, int face) const {
    return outside_[local * faces + static_cast<std::size_t>(face)];
  }

  void start();
  void finish();   // blocks

 private:
  struct Partner {
    int rank = 0;
    std::vector<const double*> faces;   // own ones, in the order in which the partner wants them
    std::vector<double> sent, received;
  };
  [[nodiscard]] std::size_t place(std::size_t local, int face) const {
    return (local * faces + static_cast<std::size_t>(face)) * face_values_;
  }
  void find_partners();

  MPI_Comm comm_;
  const Mesh& mesh_;
  std::size_t face_values_;
  std::vector<double> own_;
  std::vector<const double*> outside_;
  std::vector<Partner> partners_;
  std::vector<MPI_Request> requests_;
};

}  // namespace nekcem
