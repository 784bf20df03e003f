// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the grid of a file with coordinates.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "convert/semantics.hpp"

namespace glean::convert {
namespace {

constexpr double unevenness_most = 0.01;   // of the spacing
constexpr std::uint64_t values_at_once = 1 << 20;

struct Axis {
  double first = 0, spacing = 1;
  std::string flaw;   // empty: it is one
};

Axis read_axis(const Source& source, int variable) {
  const std::uint64_t length = source.layout(variable).shape.at(0);
  const std::string& name = source.variable(variable).name;
  if (source.variable(variable).external == mesh::Type::text) return {0, 1, fmt::format("coordinate '{}' is text", name)};
  const double first = source.reals(variable, 0, 0, 1).front(), last = source.reals(variable, 0, length - 1, 1).front();
  // Nothing says how wide a single cell is.
  const Axis axis{first, length == 1 ? 1 : (last - first) / static_cast<double>(length - 1), {}};
  if (!std::isfinite(first) || !(axis.spacing > 0) || !std::isfinite(axis.spacing)) {
    return {0, 1, fmt::format("coordinate '{}' does not ascend, from {} to {}", name, first, last)};
  }
  for (std::uint64_t begin = 0; begin < length; begin += values_at_once) {
    const auto values = source.reals(variable, 0, begin, std::min(values_at_once, length - begin));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double even = first + static_cast<double>(begin + i) * axis.spacing;
      if (std::abs(values[i] - even) <= unevenness_most * axis.spacing) continue;
      return {0, 1, fmt::format("coordinate '{}' is not evenly spaced: value {} is {}, and {} would be", name, begin + i, values[i], even)};
    }
  }
  return axis;
}

// Of which a grid can be made, without the unlimited one.
std::vector<int> dimensions_of(const Source& source, int variable) {
  const mesh::Definitions& definitions = source.definitions();
  std::vector<int> dimensions = source.variable(variable).dimensions;
  if (definitions.per_step(variable)) dimensions.erase(dimensions.begin());
  return dimensions;
}

}  // namespace

std::optional<Semantics> read_uniform_grid(const Source& source, std::vector<std::string>& missing) {
  const mesh::Definitions& definitions = source.definitions();
  const std::vector<int> coordinates = coordinate_variables(definitions);
  std::map<int, int> coordinate_of;   // dimension → variable
  for (const int variable : coordinates) {
    if (!definitions.per_step(variable)) coordinate_of[source.variable(variable).dimensions[0]] = variable;
  }
  std::map<int, Axis> axes;   // of dimensions
  std::vector<int> best;
  std::uint64_t most_cells = 0;
  for (int v = 0; v < static_cast<int>(definitions.variables.size()); ++v) {
    const std::vector<int> dimensions = dimensions_of(source, v);
    const std::string& name = source.variable(v).name;
    if (std::find(coordinates.begin(), coordinates.end(), v) != coordinates.end()) continue;
    if (dimensions.empty() || dimensions.size() > 3 || source.variable(v).external == mesh::Type::text) {
      missing.push_back(fmt::format("'{}' is no array of numbers in one to three dimensions", name));
      continue;
    }
    bool fits = true;
    for (const int dimension : dimensions) {
      const auto found = coordinate_of.find(dimension);
      if (found == coordinate_of.end()) {
        const std::string& of = definitions.dimensions[static_cast<std::size_t>(dimension)].name;
        missing.push_back(fmt::format("'{}' has the dimension '{}', of which there is no coordinate '{}({})'", name, of, of, of));
        fits = false;
        continue;
      }
      if (axes.find(dimension) == axes.end()) axes[dimension] = read_axis(source, found->second);
      if (axes[dimension].flaw.empty()) continue;
      if (std::find(missing.begin(), missing.end(), axes[dimension].flaw) == missing.end()) missing.push_back(axes[dimension].flaw);
      fits = false;
    }
    const std::uint64_t cells = mesh::elements_of(definitions.shape(v));
    if (fits && cells > most_cells) {
      best = dimensions;
      most_cells = cells;
    }
  }
  if (best.empty()) return std::nullopt;

  UniformGrid grid;
  Semantics semantics;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const int dimension = best[best.size() - 1 - i];
    const Axis& axis = axes[dimension];
    grid.cells.push_back(definitions.dimensions[static_cast<std::size_t>(dimension)].length);
    grid.spacing[i] = axis.spacing;
    grid.origin[i] = axis.first - 0.5 * axis.spacing;
  }
  for (int v = 0; v < static_cast<int>(definitions.variables.size()); ++v) {
    if (std::find(coordinates.begin(), coordinates.end(), v) != coordinates.end()) semantics.mesh.push_back(v);
    else if (dimensions_of(source, v) == best && source.variable(v).external != mesh::Type::text) semantics.fields.push_back(v);
    else semantics.others.push_back(v);
  }
  semantics.meaning = std::move(grid);
  return semantics;
}

}  // namespace glean::convert
