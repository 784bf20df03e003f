// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks agree on the arguments of a call that is just about to be made: for front ends that check them before the call.
#pragma once

#include <mpi.h>

#include <optional>

namespace glean::session {

// The first rank whose arguments are `wrong`, on all ranks; nothing if none is. Of the session that has `computing` as its
// application_comm(); nothing is agreed if there is none that is open. Collective, one reduction; ends as other collective calls do when
// a rank does not come. Throws glean::Error.
[[nodiscard]] std::optional<int> first_with_wrong_arguments(MPI_Comm computing, bool wrong);

}  // namespace glean::session
