// SPDX-License-Identifier: BSD-3-Clause
//
// Meaning becomes files: a NetCDF file becomes an HDF5 or VTKHDF file that other people's readers know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "convert/semantics.hpp"

namespace glean::convert {

struct Options {
  base::CopyFormat to = base::CopyFormat::hdf5;
  base::Semantics semantics = base::Semantics::automatic;
  std::vector<std::string> variables;   // fields; empty: all
  bool single = false;                  // fields of double precision become such of single precision
  bool image = false;                   // VTKHDF of a uniform grid is ImageData, which ParaView 5.11 cannot read
  bool leaves_out_nothing = false;      // an error where the file cannot hold all that the source has, as one file
  bool is_of_drain = false;             // which says that the source is complete; what an earlier try has left goes
  std::vector<std::string> operators;   // that are run on the variables (base/operators.hpp), in order
  std::string output;                   // empty: beside the source
};

struct Made {
  std::string path;
  std::string kind;   // "HDF5", "FLASH HDF5", "VTKHDF OverlappingAMR", "VTKHDF ImageData", "NetCDF"
  std::size_t fields = 0;
  std::uint64_t blocks = 0;     // of a mesh that has some
  int levels = 0;               // on which there are blocks
  std::optional<double> time;   // of one step
  Bytes bytes = 0;
  double seconds = 0;
  std::vector<std::string> notes;
};

// The name without its extension, if it has one that is not a number, and with that of the format. `is_reduced`: by operators.
[[nodiscard]] std::string output_path(const std::string& source, base::CopyFormat to, bool is_reduced = false);

// Makes the file, or of several records one for each: stem_0000.vtkhdf, …; HDF5 without blocks holds all. A file appears under its name
// when it is complete and durable, and takes the place of one that is there; when it throws, the files of earlier records are there.
// Local. Blocks. Throws what is wrong with source, options or storage, naming the file: all at once where it can.
std::vector<Made> convert(store::SystemCalls& calls, const std::string& path, const Options& options);

}  // namespace glean::convert
