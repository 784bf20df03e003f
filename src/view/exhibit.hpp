// SPDX-License-Identifier: BSD-3-Clause
//
// What of a dataset can be shown, and how: arrays as slices, blocks as pictures of a plane, meshes as surfaces.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "view/blocks.hpp"
#include "view/dataset.hpp"
#include "view/source.hpp"
#include "view/surface.hpp"

namespace glean::view {

// The dataset must outlive it, unless nothing is asked but fields().
class Exhibit {
 public:
  explicit Exhibit(const Dataset& dataset);

  // An array of {name, kind, units, type, shape, axes}. `kind`: "array", "blocks" or "surface"; of an array and of blocks the axes and
  // their lengths, the slowest first.
  [[nodiscard]] const nlohmann::json& fields() const { return fields_; }
  // Of a step, if it is known. Blocks.
  [[nodiscard]] std::optional<double> time(std::uint64_t record) const;

  // `request`: variable; axis, at, width, height as SliceRequest has them. Throws not_found, and what reading throws. Blocks.
  [[nodiscard]] Answer slice(const nlohmann::json& request, std::uint64_t record) const;
  // All of an array of three dimensions, or of blocks of three as one grid: `about` has shape and axes along z, y, x. At most `side`
  // values along each, every n-th where there are more. Throws as above, and unsupported for others.
  [[nodiscard]] Answer volume(const nlohmann::json& request, std::uint64_t record) const;
  // The values of the answer: positions (float32), values (float32), corners of triangles (uint32); `about` says how many.
  [[nodiscard]] Answer surface(const nlohmann::json& request, std::uint64_t record) const;
  // "slice", "volume" or "surface".
  [[nodiscard]] Answer show(const std::string& what, const nlohmann::json& request, std::uint64_t record) const;
  // Minimum, maximum, mean of a variable, and how many values are none; of large arrays of every n-th plane.
  [[nodiscard]] nlohmann::json summary(const std::string& variable, std::uint64_t record) const;

 private:
  struct ArrayField {
    std::string name;
    int variable = 0;
  };
  struct SurfaceField {
    std::size_t grid = 0, field = 0;
  };
  void find_arrays(const std::vector<int>& taken);
  [[nodiscard]] nlohmann::json axis_of(int variable, int dimension) const;
  [[nodiscard]] nlohmann::json planes_of(const std::string& name, std::uint64_t planes) const;
  [[nodiscard]] Answer array_slice(const ArrayField& field, const nlohmann::json& request, std::uint64_t record) const;
  [[nodiscard]] Answer block_slice(const BlockField& field, const nlohmann::json& request, std::uint64_t record) const;
  [[nodiscard]] std::vector<int> variables_of(const std::string& name) const;

  const Dataset& dataset_;
  std::vector<ArrayField> arrays_;
  std::optional<BlockGrid> blocks_;
  std::vector<UnstructuredGrid> grids_;
  nlohmann::json fields_ = nlohmann::json::array();
};

}  // namespace glean::view
