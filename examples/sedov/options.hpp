// SPDX-License-Identifier: BSD-3-Clause
//
// The command line.
#pragma once

#include <span>
#include <string>

#include "writer.hpp"

namespace sedov {

enum class Through { none, pnetcdf, hdf5, glean };

struct Options {
  Position blocks = {6, 6, 6};   // of level 1
  int levels = 1;                // at most; 1: a uniform mesh
  int refine_every = 4;          // steps between changes of the mesh
  double end_time = 0.05;       // of the simulation
  int steps = 0;                // at most; 0: as many as end_time takes
  int checkpoint_every = 0;     // steps; 0: only at the start and the end
  int plot_every = 0;
  std::string directory = ".";
  Through output = Through::glean;
  FileFormat format = FileFormat::cdf5;
  Durability durability = Durability::leave_to_kernel;   // of PnetCDF; GLEAN's files are always fsynced
  std::string trace_file;       // empty: none
  bool help = false;
};

// Throws std::invalid_argument that names the argument and what it may be.
[[nodiscard]] Options parse_options(std::span<char* const> arguments);
[[nodiscard]] std::string usage();

}  // namespace sedov
