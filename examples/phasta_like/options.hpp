// SPDX-License-Identifier: BSD-3-Clause
//
// The command line.
#pragma once

#include <span>
#include <string>

#include "forest.hpp"
#include "writer.hpp"

namespace phasta {

struct Options {
  Box box;
  double radius = 3;   // around the axis of the vortex, in which the mesh is finest; in units of its core
  int steps = 8;
  int every = 2;       // steps between outputs
  double dt = 0.08;
  WriterSettings writer;
  std::string json_file;   // empty: none
  bool help = false;
};

// Throws std::invalid_argument that names the argument and what it may be.
[[nodiscard]] Options parse_options(std::span<char* const> arguments);
[[nodiscard]] std::string usage();

}  // namespace phasta
