// SPDX-License-Identifier: BSD-3-Clause
//
// glean on every node of a job: `mpirun --map-by ppr:1:node glean recover`, `mpirun glean calibrate`, and what other launchers
// have for that.
#pragma once

#include <functional>
#include <string>

#include "service/recovery.hpp"

namespace glean::cli {

// Does `work` with the processes that a launcher has started with this one, or alone; its exit code. MPI is started only with
// others, in a child process, which does the work. Behind a shell or the like it is started only if this one `needs_others`, because
// what runs there next could not start MPI any more. `work` also gets why it is alone although there are others; empty: there
// are none. What it throws where others may be waiting ends all of them. `verb`: what all of them are to run.
[[nodiscard]] int with_companions(bool needs_others, const std::function<int(service::Companions&, const std::string& why_alone)>& work,
                                  const std::string& verb = "recover");

}  // namespace glean::cli
