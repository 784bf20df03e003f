// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of any length from each rank to rank 0, and from rank 0 to all.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace glean::session {

// By ranks, on rank 0; nothing on the others. Throws invalid_argument on all ranks where they have 2 GiB or
// more together. Collective.
[[nodiscard]] std::vector<std::vector<std::byte>> gather_messages(MPI_Comm comm, const std::vector<std::byte>& mine);

// What rank 0 has, on all ranks. Collective.
[[nodiscard]] std::vector<std::byte> message_of_root(MPI_Comm comm, const std::vector<std::byte>& of_root);

}  // namespace glean::session
