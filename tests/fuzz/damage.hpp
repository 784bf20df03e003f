// SPDX-License-Identifier: BSD-3-Clause
//
// What may have happened to a pool, as a program of bytes: each byte string says something, and says the same when fields
// move in the pool's format, as far as that can be.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scene.hpp"
#include "storage.hpp"

namespace glean::fuzz {

struct Damaged {
  const Scene* scene = nullptr;
  StorageFault fault;             // of the storage that it is recovered to
  bool is_sound = true;           // nothing has happened to it
  std::vector<std::byte> image;
};

// The first byte chooses the scene and whether the storage fails, the rest are edits: of words of the pool, of records and
// layouts with their checksums made right again, and of bytes as they lie there.
[[nodiscard]] Damaged damaged(std::span<const std::uint8_t> program);

}  // namespace glean::fuzz
