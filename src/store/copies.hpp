// SPDX-License-Identifier: BSD-3-Clause
//
// Files that are made of an output when it is complete: in which format, of which variables, and under which names. `glean convert` makes
// them (src/convert).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/encoding.hpp"
#include "base/settings.hpp"

namespace glean::store {

struct Copy {
  base::CopyFormat format = base::CopyFormat::hdf5;
  std::vector<std::string> variables;   // in single precision, of a plot file; empty: all, as they are
  std::string suffix{};                   // of the result of an analysis; empty: it is none
  std::vector<std::string> operators{};   // of that

  // Beside `final_path`, with its extension in place of .nc, .nc4, .cdf or .netcdf, or behind any other name. A plot file is
  // NAME_plot.h5, a result NAME_SUFFIX.nc.
  [[nodiscard]] std::string path(const std::string& final_path) const;
  friend bool operator==(const Copy&, const Copy&) = default;
};

struct Copies {
  base::Semantics semantics = base::Semantics::automatic;
  bool instead = false;  // the first one takes the place of the output's file
  std::vector<Copy> each;

  // What the settings of an output ask for, and its analyses.
  [[nodiscard]] static Copies of(const base::CopySettings& settings, const std::vector<base::AnalysisTable>& analyses);
  // The words that `glean` makes `copy` with, as `path` from `source`.
  [[nodiscard]] std::vector<std::string> words(const Copy& copy, const std::string& source, const std::string& path) const;

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static Copies decode(base::Decoder& in);
  friend bool operator==(const Copies&, const Copies&) = default;
};

}  // namespace glean::store
