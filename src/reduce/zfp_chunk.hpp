// SPDX-License-Identifier: BSD-3-Clause
//
// Values within a tolerance, as the HDF5 filter 32013 (H5Z-ZFP) has a chunk of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/type.hpp"

namespace glean::reduce {

class ZfpChunk {
 public:
  static constexpr unsigned filter = 32013;

  // Why values of this type in chunks of this shape cannot be compressed so; empty: they can.
  [[nodiscard]] static std::string why_not(mesh::Type type, std::span<const std::uint64_t> shape);
  // Throws unsupported where this was built without zfp.
  ZfpChunk(mesh::Type type, std::span<const std::uint64_t> shape, double tolerance);

  // What the filter is told of all chunks of a dataset.
  [[nodiscard]] const std::vector<unsigned>& filter_values() const { return filter_values_; }
  // Of a whole chunk. Nothing where zfp does not hold the tolerance, as of values that are not finite, or of very different size: such a
  // chunk is stored as it is. Otherwise `error_most` becomes the largest error, if that is larger.
  [[nodiscard]] std::optional<std::vector<std::byte>> compress(std::span<const double> values, double& error_most) const;

 private:
  mesh::Type type_;
  std::vector<std::size_t> lengths_;   // the fastest first, without those of 1
  double tolerance_;
  std::vector<unsigned> filter_values_;
};

}   // namespace glean::reduce
