// SPDX-License-Identifier: BSD-3-Clause
//
// What FLASH's files say beside mesh and fields: its names of fields, scalars and runtime parameters.
#pragma once

#include <string>
#include <vector>

#include "convert/semantics.hpp"
#include "store/hdf5/flash_image.hpp"

namespace glean::convert {

// Of each field its name of four characters. A shorter one gets blanks behind it, as FLASH has them (in its PnetCDF files they are `_`), a
// longer one is cut; of two that become the same the later one ends in a digit: density, densities → dens, den1. `/` and what is not
// ASCII become `_`. Throws unsupported where a thousand are alike. Pure.
[[nodiscard]] std::vector<std::string> flash_names(const std::vector<std::string>& names);

struct FlashParameters {
  store::FlashSimulation simulation;
  std::vector<store::FlashParameter> scalars, runtime_parameters;
  std::vector<std::string> left_out;   // attributes that have no or several numbers
};

// Attributes of the file, of `scalars` and of `runtime_parameters`, and what the mesh adds. Throws io where the domain is no whole number
// of blocks of the first level, and no runtime parameters say what it is.
[[nodiscard]] FlashParameters flash_parameters(const Source& source, const Blocks& blocks, double time);

}  // namespace glean::convert
