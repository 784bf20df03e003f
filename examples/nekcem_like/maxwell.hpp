// SPDX-License-Identifier: BSD-3-Clause
//
// The solver: Maxwell's equations by a spectral-element discontinuous Galerkin method.
#pragma once

#include <array>
#include <vector>

#include "face_exchange.hpp"
#include "mesh.hpp"
#include "waveguide.hpp"

namespace nekcem {

// The components at all points of this rank, in the order of Mesh::for_points.
struct Fields {
  std::array<std::vector<double>, components> values;
};

[[nodiscard]] Fields exact_fields(const Mesh& mesh, const WaveguideMode& mode, double time);
// The largest difference of any component at any point of this rank. Local.
[[nodiscard]] double largest_difference(const Fields& a, const Fields& b);
// The integral of (E² + H²) / 2 over the elements of this rank. Local.
[[nodiscard]] double energy(const Mesh& mesh, const Fields& fields);

// dE/dt = curl H, dH/dt = -curl E in the strong form, with upwind fluxes between elements and perfectly conducting walls. Points of
// quadrature and interpolation are the same, so that the mass matrix is diagonal. Time steps are low-storage Runge-Kutta, fourth order.
class Maxwell {
 public:
  // Both must outlive it.
  Maxwell(const Mesh& mesh, FaceExchange& exchange);

  [[nodiscard]] double stable_step(double courant) const;
  // One step. Ranks wait for those with which they share faces, and for no others.
  void advance(Fields& fields, double dt);
  // Seconds for which advance() has waited for other ranks so far.
  [[nodiscard]] double waited() const { return waited_; }

 private:
  void take_faces(const Fields& fields);
  void add_curls(const Fields& fields);
  void add_derivative(std::size_t element, int axis, double factor, const std::vector<double>& of, std::vector<double>& to) const;
  void add_fluxes();
  void add_flux(std::size_t element, int face);

  const Mesh& mesh_;
  FaceExchange& exchange_;
  std::vector<double> transposed_;   // the derivative matrix, [j][i]
  std::vector<std::size_t> face_points_[faces];   // offsets in an element
  Fields rate_, residual_;
  double waited_ = 0;
};

}  // namespace nekcem
