// SPDX-License-Identifier: BSD-3-Clause
//
// Where a stager lays what comes when its pool is nearly full.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "pool/journal.hpp"

namespace glean::nodes {

class Spill {
 public:
  virtual ~Spill() = default;

  // Writes the payload of a put, and returns where it lies in the spill file of the pool. Nothing: there is no room left for it, or the
  // storage refuses. Blocks for the storage.
  [[nodiscard]] virtual std::optional<base::Bytes> write(const pool::Recorder::Put& put, std::span<const std::byte> payload) = 0;
};

}  // namespace glean::nodes
