// SPDX-License-Identifier: BSD-3-Clause
//
// The command line.
#pragma once

#include <span>
#include <string>

#include "mesh.hpp"
#include "waveguide.hpp"
#include "writer.hpp"

namespace nekcem {

enum class Writers { dedicated, computing };

struct Options {
  Mesh::Box box;
  WaveguideMode::Shape mode;
  double courant = 0.8;
  int steps = 200;
  int every = 50;   // steps between outputs
  WriterSettings writer;
  int ranks_per_writer = 4;
  Writers writers = Writers::dedicated;
  std::string json_file;   // empty: none
  bool help = false;

  // Whether a rank has elements, by its group.
  [[nodiscard]] std::vector<Role> roles(int ranks) const;
};

// `ranks` is how many there are. Throws std::invalid_argument that names the argument and what it may be.
[[nodiscard]] Options parse_options(std::span<char* const> arguments, int ranks);
[[nodiscard]] std::string usage();
[[nodiscard]] const char* name_of(Way way);

}  // namespace nekcem
