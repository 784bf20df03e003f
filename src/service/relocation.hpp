// SPDX-License-Identifier: BSD-3-Clause
//
// Publishing what a job has left in another directory than the job wanted, where there is room.
#pragma once

#include <string>

#include "pool/pool.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::service {

// Unfinished outputs of the pool, which this process has claimed, are going to appear in `directory`, under the names that they have
// without their directories, or with the last of these where another file has that: what is in their working files is copied there, and
// the log of names says so. Blocks. Throws what the copying fails with; an output is then either here or there. Throws exists, and changes
// nothing, where another file has that name, too.
void move_outputs_to(pool::Pool& pool, const std::string& directory, store::SystemCalls& calls);

}  // namespace glean::service
