// SPDX-License-Identifier: BSD-3-Clause
//
// The flux between two states of an ideal gas: HLLC (Toro, Spruce and Speares 1994).
#pragma once

#include <algorithm>
#include <cmath>

namespace sedov {

struct State {
  double density, normal, first, second, pressure;   // velocity: across the face, and the two along it
};

struct Flux {
  double mass, normal, first, second, energy;
};

// Contacts and shear are kept exactly, density and pressure stay positive. Without branches, so that a loop
// over faces becomes vector code. Pure.
inline Flux hllc(const State& left, const State& right, double gamma) {
  const double left_sound = std::sqrt(gamma * left.pressure / left.density);
  const double right_sound = std::sqrt(gamma * right.pressure / right.density);
  const double slowest = std::min(left.normal - left_sound, right.normal - right_sound);
  const double fastest = std::max(left.normal + left_sound, right.normal + right_sound);

  const double left_inflow = left.density * (slowest - left.normal);
  const double right_inflow = right.density * (fastest - right.normal);
  const double push =
      right.pressure - left.pressure + left.normal * left_inflow - right.normal * right_inflow;
  const double contact = push / (left_inflow - right_inflow);

  const bool from_left = contact >= 0;
  const double density = from_left ? left.density : right.density;
  const double normal = from_left ? left.normal : right.normal;
  const double first = from_left ? left.first : right.first;
  const double second = from_left ? left.second : right.second;
  const double pressure = from_left ? left.pressure : right.pressure;
  const double wave = from_left ? slowest : fastest;
  const double inflow = from_left ? left_inflow : right_inflow;
  // Zero when the whole fan moves away from the face on one side: then the flux is that side's own.
  const double reach = from_left ? std::min(slowest, 0.0) : std::max(fastest, 0.0);

  const double energy =
      pressure / (gamma - 1) + 0.5 * density * (normal * normal + first * first + second * second);
  const double star_density = inflow / (wave - contact);
  const double star_energy =
      star_density * (energy / density + (contact - normal) * (contact + pressure / inflow));

  const double mass = density * normal;
  return {.mass = mass + reach * (star_density - density),
          .normal = mass * normal + pressure + reach * (star_density * contact - density * normal),
          .first = mass * first + reach * (star_density - density) * first,
          .second = mass * second + reach * (star_density - density) * second,
          .energy = normal * (energy + pressure) + reach * (star_energy - energy)};
}

}  // namespace sedov
