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

// Reads what OutputSlot::steps.takeover_log leads to. Only for the drain.
[[nodiscard]] DescriptionInPool read_takeover_log(const Pool& pool, const OutputKey& output);

struct UnpublishedParts {
  Bytes newest = 0;                    // for OutputSlot::steps.takeover_log
  std::vector<std::uint32_t> chunks;
};
// Writes bytes that are not empty into free chunks. Nothing when there are not so many. Never waits.
[[nodiscard]] std::optional<UnpublishedParts> write_parts(Pool& pool, const OutputKey& output, std::span<const std::byte> bytes);

// The same for OutputSlot::writes.meaning, when no rank says another one any more: all have closed the output. Nothing where no rank has
// said it, or what is there is damaged: only consumers need it.
[[nodiscard]] DescriptionInPool read_meaning(const Pool& pool, const OutputKey& output);
// Whether this rank is the one of its node that says what the variables of a raw output are, for the `count`th time since it was opened,
// from 1 on: the first that asks. Local.
[[nodiscard]] bool claim_meaning(Pool& pool, const OutputKey& output, std::uint32_t count);
// Then it says so, instead of what was said before. Where less than half of the chunks are free it is not known. Local, never waits.
void say_meaning(Pool& pool, const OutputKey& output, std::span<const std::byte> bytes);

// Gives the chunks of an output that will not be drained back. Only for the rank that has described it.
void forget_description(Pool& pool, const OutputKey& output);

}  // namespace glean::pool
