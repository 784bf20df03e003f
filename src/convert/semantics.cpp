// SPDX-License-Identifier: BSD-3-Clause
#include "convert/semantics.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace glean::convert {
namespace {

Semantics read_arrays(const Source& source, std::vector<std::string> why) {
  Semantics semantics{Arrays{std::move(why)}, coordinate_variables(source.definitions()), {}, {}};
  for (int v = 0; v < static_cast<int>(source.definitions().variables.size()); ++v) {
    if (std::find(semantics.mesh.begin(), semantics.mesh.end(), v) == semantics.mesh.end()) semantics.fields.push_back(v);
  }
  return semantics;
}

}  // namespace

std::vector<int> coordinate_variables(const mesh::Definitions& definitions) {
  std::vector<int> found;
  for (int v = 0; v < static_cast<int>(definitions.variables.size()); ++v) {
    const mesh::VariableDefinition& variable = definitions.variables[static_cast<std::size_t>(v)];
    if (variable.dimensions.size() != 1) continue;
    if (definitions.dimensions[static_cast<std::size_t>(variable.dimensions[0])].name == variable.name) found.push_back(v);
  }
  return found;
}

Semantics read_semantics(const Source& source, base::Semantics choice) {
  if (choice == base::Semantics::none) return read_arrays(source, {});
  std::vector<std::string> missing;
  if (auto blocks = read_blocks(source, missing)) return *std::move(blocks);
  if (choice == base::Semantics::flash) {
    throw base::Error(base::Errc::not_found,
                      "cannot convert '" + source.path() + "': it has no blocks by the names of FLASH: " + listed(missing),
                      "--semantics auto takes what there is");
  }
  if (auto grid = read_uniform_grid(source, missing)) return *std::move(grid);
  return read_arrays(source, std::move(missing));
}

std::optional<double> time_of(const Source& source, const Semantics& semantics, std::uint64_t record) {
  const mesh::Definitions& definitions = source.definitions();
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    const int id = static_cast<int>(v);
    const mesh::VariableDefinition& variable = definitions.variables[v];
    if (!definitions.per_step(id) || variable.dimensions.size() != 1 || variable.external == mesh::Type::text) continue;
    if (variable.name != "time" && variable.name != definitions.dimensions[static_cast<std::size_t>(variable.dimensions[0])].name) continue;
    if (record >= source.records()) return std::nullopt;
    return source.reals(id, record, 0, 1).front();
  }
  std::vector<int> owners{-1};
  if (const auto* blocks = std::get_if<Blocks>(&semantics.meaning); blocks != nullptr && blocks->scalars) owners = {*blocks->scalars, -1};
  for (const int owner : owners) {
    if (const mesh::Attribute* attribute = source.attribute(owner, "time")) return number_of(*attribute);
  }
  return std::nullopt;
}

}  // namespace glean::convert
