// SPDX-License-Identifier: BSD-3-Clause
//
// What a killed process had just begun: chunks that it had taken for what it never recorded, and its waiting.
#pragma once

#include "pool/pool.hpp"

namespace glean::pool {

// Counts anew what refers to each chunk, and frees those that nothing refers to. Only when no process captures or drains. Journals that
// cannot be read to their end leave everything as it is. Local.
void free_leaked_chunks(Pool& pool);
// That, and nothing waits in the pool any more, for room or with the number of a write. Under the same conditions. Local.
void forget_killed_processes(Pool& pool);

}  // namespace glean::pool
