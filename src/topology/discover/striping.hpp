// SPDX-License-Identifier: BSD-3-Clause
//
// How Lustre stripes what is written to a directory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.hpp"

namespace glean::topology {

struct Striping {
  int count = 0;           // -1: over all targets; 0: the default of the file system
  base::Bytes bytes = 0;   // 0: the default of the file system
  friend bool operator==(const Striping&, const Striping&) = default;
};

// From the value of the attribute "lustre.lov": a plain layout (version 1 or 3), or one in components, of which the last one
// counts, because that is where large files go on. nullopt where it is neither. Local.
[[nodiscard]] std::optional<Striping> striping_of(std::span<const std::byte> attribute);

// The attribute of a file or directory; nullopt where it has none. No library of Lustre is needed for it. Local.
[[nodiscard]] std::optional<Striping> discover_striping(const std::string& path);

}  // namespace glean::topology
