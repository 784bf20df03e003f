// SPDX-License-Identifier: BSD-3-Clause
//
// What an output's description in the pool consists of: opaque bytes, in parts, in chunks that stay until the output is
// finished. Recorder::describe() writes them. The takeover log of an output lies there in the same form.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "pool/pool.hpp"

namespace glean::pool {

struct DescriptionInPool {
  std::vector<std::byte> bytes;        // as far as they have come
  bool complete = false;
  std::vector<std::uint32_t> chunks;   // where the parts lie, one reference each
};

// Any process may ask. Throws io when what is there is no description of this output.
[[nodiscard]] DescriptionInPool read_description(const Pool& pool, const OutputKey& output);

// Reads what OutputSlot::takeover_log leads to. Only for the drain.
[[nodiscard]] DescriptionInPool read_takeover_log(const Pool& pool, const OutputKey& output);

struct UnpublishedParts {
  Bytes newest = 0;                    // for OutputSlot::takeover_log
  std::vector<std::uint32_t> chunks;
};
// Writes bytes that are not empty into free chunks. Nothing when there are not so many. Never waits.
[[nodiscard]] std::optional<UnpublishedParts> write_parts(Pool& pool, const OutputKey& output, std::span<const std::byte> bytes);

// Gives the chunks of an output that will not be drained back. Only for the rank that has described it.
void forget_description(Pool& pool, const OutputKey& output);

}  // namespace glean::pool
