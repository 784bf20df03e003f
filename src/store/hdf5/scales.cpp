// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/scales.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/hdf5/library.hpp"

namespace glean::store {
namespace {

constexpr std::size_t uses_most = 1000;

struct Use {
  std::size_t variable;
  unsigned dimension;   // of it
};

// In the order of the variables. What the scale itself has is none.
std::vector<Use> uses_of(const mesh::Definitions& definitions, int dimension, std::size_t scale) {
  std::vector<Use> uses;
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    const std::vector<int>& dimensions = definitions.variables[v].dimensions;
    for (std::size_t d = 0; d < dimensions.size() && v != scale; ++d) {
      if (dimensions[d] == dimension) uses.push_back({v, static_cast<unsigned>(d)});
    }
  }
  return uses;
}

bool is_scale(const mesh::Definitions& definitions, std::size_t variable) {
  const mesh::VariableDefinition& definition = definitions.variables[variable];
  return definition.dimensions.size() == 1 &&
         definitions.dimensions[static_cast<std::size_t>(definition.dimensions[0])].name == definition.name;
}

}  // namespace

void attach_scales(hid_t file, const mesh::Definitions& definitions) {
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    if (!is_scale(definitions, v)) continue;
    const std::string& name = definitions.variables[v].name;
    const std::string what = "cannot make variable '" + name + "' the scale of its dimension";
    const Handle scale(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, what);
    check(H5DSset_scale(scale.id(), name.c_str()), what);
    const std::vector<Use> uses = uses_of(definitions, definitions.variables[v].dimensions[0], v);
    if (uses.size() > uses_most) continue;
    for (const Use& use : uses) {
      const Handle dataset(H5Dopen2(file, definitions.variables[use.variable].name.c_str(), H5P_DEFAULT), H5Dclose, what);
      check(H5DSattach_scale(dataset.id(), scale.id(), use.dimension), what);
    }
  }
}

}  // namespace glean::store
