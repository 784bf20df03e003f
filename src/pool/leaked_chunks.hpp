// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks that a killed process had taken for what it never recorded.
#pragma once

#include "pool/pool.hpp"

namespace glean::pool {

// Counts anew what refers to each chunk, and frees those that nothing refers to. Only when no process captures or drains. Journals that
// cannot be read to their end leave everything as it is. Local.
void free_leaked_chunks(Pool& pool);

}  // namespace glean::pool
