// SPDX-License-Identifier: BSD-3-Clause
#include "maxwell.hpp"

#include <algorithm>
#include <cmath>

namespace nekcem {

namespace {

// Carpenter and Kennedy, "Fourth-order 2N-storage Runge-Kutta schemes", NASA TM-109112, 1994.
constexpr int stages = 5;
constexpr double residual_factor[stages] = {0.0, -567301805773.0 / 1357537059087.0, -2404267990393.0 / 2016746695238.0,
                                            -3550918686646.0 / 2091501179385.0, -1275806237668.0 / 842570457699.0};
constexpr double update_factor[stages] = {1432997174477.0 / 9575080441755.0, 5161836677717.0 / 13612068292357.0,
                                          1720146321549.0 / 2090206949498.0, 3134564353537.0 / 4481467310338.0,
                                          2277821191437.0 / 14882151754819.0};

}  // namespace

Fields exact_fields(const Mesh& mesh, const WaveguideMode& mode, double time) {
  Fields fields;
  for (auto& values : fields.values) values.resize(mesh.local_elements() * mesh.points_per_element());
  mesh.for_points([&](std::size_t offset, double x, double y, double z) {
    const Field6 here = mode.at(x, y, z, time);
    for (std::size_t c = 0; c < components; ++c) fields.values[c][offset] = here[c];
  });
  return fields;
}

double largest_difference(const Fields& a, const Fields& b) {
  double largest = 0;
  for (std::size_t c = 0; c < components; ++c) {
    for (std::size_t i = 0; i < a.values[c].size(); ++i) largest = std::max(largest, std::abs(a.values[c][i] - b.values[c][i]));
  }
  return largest;
}

double energy(const Mesh& mesh, const Fields& fields) {
  const std::vector<double>& weights = mesh.rule().weights;
  const std::size_t n = mesh.points_along();
  const double volume = mesh.width(0) * mesh.width(1) * mesh.width(2) / 8;
  double sum = 0;
  for (std::size_t offset = 0; offset < fields.values[0].size(); ++offset) {
    double square = 0;
    for (const auto& values : fields.values) square += values[offset] * values[offset];
    sum += weights[offset % n] * weights[offset / n % n] * weights[offset / n / n % n] * square;
  }
  return sum * volume / 2;
}

Maxwell::Maxwell(const Mesh& mesh, FaceExchange& exchange) : mesh_(mesh), exchange_(exchange) {
  const std::size_t n = mesh.points_along();
  transposed_.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) transposed_[j * n + i] = mesh.rule().derivative[i * n + j];
  }
  const std::size_t strides[3] = {1, n, n * n};
  for (int face = 0; face < faces; ++face) {
    // Points of a face are in the order of an element, so both sides of a face agree.
    const int axis = axis_of(face);
    const std::size_t slow = strides[axis == 2 ? 1 : 2], fast = strides[axis == 0 ? 1 : 0];
    const std::size_t begin = face % 2 == 0 ? 0 : (n - 1) * strides[axis];
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) face_points_[face].push_back(begin + j * slow + i * fast);
    }
  }
  for (std::size_t c = 0; c < components; ++c) {
    rate_.values[c].resize(mesh.local_elements() * mesh.points_per_element());
    residual_.values[c].resize(rate_.values[c].size());
  }
}

double Maxwell::stable_step(double courant) const {
  const double closest = mesh_.rule().points[1] - mesh_.rule().points[0];
  double speeds = 0;
  for (int axis = 0; axis < 3; ++axis) speeds += 1 / (mesh_.width(axis) / 2 * closest);
  return courant / speeds;
}

void Maxwell::advance(Fields& fields, double dt) {
  for (int stage = 0; stage < stages; ++stage) {
    take_faces(fields);
    exchange_.start();
    add_curls(fields);
    const double arrived = MPI_Wtime();
    exchange_.finish();
    waited_ += MPI_Wtime() - arrived;
    add_fluxes();
    for (std::size_t c = 0; c < components; ++c) {
      double* value = fields.values[c].data();
      double* residual = residual_.values[c].data();
      const double* rate = rate_.values[c].data();
      for (std::size_t i = 0; i < fields.values[c].size(); ++i) {
        residual[i] = residual_factor[stage] * residual[i] + dt * rate[i];
        value[i] += update_factor[stage] * residual[i];
      }
    }
  }
}

void Maxwell::take_faces(const Fields& fields) {
  for (std::size_t element = 0; element < mesh_.local_elements(); ++element) {
    for (int face = 0; face < faces; ++face) {
      double* to = exchange_.inside(element, face);
      for (const auto& values : fields.values) {
        const double* from = values.data() + element * mesh_.points_per_element();
        for (const std::size_t point : face_points_[face]) *to++ = from[point];
      }
    }
  }
}

void Maxwell::add_curls(const Fields& fields) {
  for (auto& values : rate_.values) std::fill(values.begin(), values.end(), 0.0);
  for (std::size_t element = 0; element < mesh_.local_elements(); ++element) {
    for (int axis = 0; axis < 3; ++axis) {
      // Of curl v, the derivative along this axis is in the next component (of the one after, with -1) and in the one after.
      const auto next = static_cast<std::size_t>((axis + 1) % 3), after = static_cast<std::size_t>((axis + 2) % 3);
      const double scale = 2 / mesh_.width(axis);
      add_derivative(element, axis, -scale, fields.values[hx + after], rate_.values[ex + next]);
      add_derivative(element, axis, scale, fields.values[hx + next], rate_.values[ex + after]);
      add_derivative(element, axis, scale, fields.values[ex + after], rate_.values[hx + next]);
      add_derivative(element, axis, -scale, fields.values[ex + next], rate_.values[hx + after]);
    }
  }
}

// The innermost loops run over contiguous points, whichever the axis: along x by columns of the matrix, along y and z by its rows.
void Maxwell::add_derivative(std::size_t element, int axis, double factor, const std::vector<double>& of, std::vector<double>& to) const {
  const std::size_t n = mesh_.points_along();
  const double* from = of.data() + element * mesh_.points_per_element();
  double* out = to.data() + element * mesh_.points_per_element();
  if (axis == 0) {
    for (std::size_t row = 0; row < n * n; ++row) {
      for (std::size_t l = 0; l < n; ++l) {
        const double value = factor * from[row * n + l];
        const double* column = transposed_.data() + l * n;
        for (std::size_t i = 0; i < n; ++i) out[row * n + i] += column[i] * value;
      }
    }
    return;
  }
  // Rows of `length` points, `n` of them after each other along the axis, in `slabs`.
  const std::size_t length = axis == 1 ? n : n * n, slabs = axis == 1 ? n : 1;
  for (std::size_t slab = 0; slab < slabs; ++slab) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < n; ++l) {
        const double entry = factor * mesh_.rule().derivative[j * n + l];
        const double* row = from + (slab * n + l) * length;
        double* result = out + (slab * n + j) * length;
        for (std::size_t i = 0; i < length; ++i) result[i] += entry * row[i];
      }
    }
  }
}

void Maxwell::add_fluxes() {
  for (std::size_t element = 0; element < mesh_.local_elements(); ++element) {
    for (int face = 0; face < faces; ++face) add_flux(element, face);
  }
}

// Upwind: to dE/dt comes (n x [H] + [E]) / 2 along the face, to dH/dt (-n x [E] + [H]) / 2, where [] is outside minus inside. Beyond a
// wall, E has the opposite sign and H the same.
void Maxwell::add_flux(std::size_t element, int face) {
  const int axis = axis_of(face);
  const auto t1 = static_cast<std::size_t>((axis + 1) % 3), t2 = static_cast<std::size_t>((axis + 2) % 3);
  const double sign = face % 2 == 0 ? -1 : 1;
  const double lift = 0.5 * (2 / mesh_.width(axis)) / mesh_.rule().weights[0];
  const std::size_t points = mesh_.points_per_face();
  const double* in = exchange_.inside(element, face);
  const double* out = exchange_.outside(element, face);
  const auto jump = [&](std::size_t component, std::size_t point) {
    const std::size_t at = component * points + point;
    if (out != nullptr) return out[at] - in[at];
    return component >= ex ? -2 * in[at] : 0.0;
  };
  for (std::size_t point = 0; point < points; ++point) {
    const std::size_t at = element * mesh_.points_per_element() + face_points_[face][point];
    const double h1 = jump(hx + t1, point), h2 = jump(hx + t2, point), e1 = jump(ex + t1, point), e2 = jump(ex + t2, point);
    rate_.values[hx + t1][at] += lift * (sign * e2 + h1);
    rate_.values[hx + t2][at] += lift * (-sign * e1 + h2);
    rate_.values[ex + t1][at] += lift * (-sign * h2 + e1);
    rate_.values[ex + t2][at] += lift * (sign * h1 + e2);
  }
}

}  // namespace nekcem
