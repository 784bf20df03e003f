// SPDX-License-Identifier: BSD-3-Clause
//
// The ways in which a program can read its restart file: from opening it to closing it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "restart/pattern.hpp"

namespace glean::benchmarks {

// This rank's part of each array.
using Parts = std::vector<std::vector<std::byte>>;

struct RestartReader {
  std::string name;
  std::string file;   // behind the name of the pattern: ".nc" or ".h5"
  std::function<void(const std::string& path, const RestartPattern& pattern, Parts& into)> read;   // Collective.
};

// GLEAN's Input, beside PnetCDF and, where it is there, HDF5. `session` must live as long.
[[nodiscard]] std::vector<RestartReader> restart_readers(glean::Session& session);

// The same arrays as a NetCDF file and, where HDF5 is there, as an HDF5 file. Collective.
void write_restart_files(glean::Session& session, const std::string& directory, const RestartPattern& pattern, const Parts& parts);

void write_with_hdf5(const std::string& path, const RestartPattern& pattern, const Parts& parts);
void read_with_hdf5(const std::string& path, const RestartPattern& pattern, Parts& into, bool collective);

}  // namespace glean::benchmarks
