// SPDX-License-Identifier: BSD-3-Clause
//
// Where the file of an output is, when the program may have renamed or removed it since it was closed.
#pragma once

#include "pool/name_log.hpp"
#include "pool/pool.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

// Where an output is and is to appear now: the program may have renamed it since it was closed. An empty final path: it has removed it.
// Throws io when it is not described. Local.
[[nodiscard]] store::FileNames current_names(const pool::Pool& pool, pool::OutputKey output);
// For a process that has locked the log of names.
[[nodiscard]] store::FileNames current_names(const pool::Pool& pool, pool::OutputKey output, const pool::NameLog& log);

}  // namespace glean::drain
