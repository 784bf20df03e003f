// SPDX-License-Identifier: BSD-3-Clause
//
// Messages over MPI, two-sided: what the application's calls move while they last (design.md, invariant 2).
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "transport/messages.hpp"

namespace glean::transport {

// Between the ranks of `comm`, which must live as long and carry no other messages between two of them with tags above 0. Local;
// its memory is that of what is on its way, however many ranks there are. Bodies go straight between the memories that are named,
// by rendezvous where they are large.
[[nodiscard]] std::unique_ptr<Messages> make_mpi_messages(MPI_Comm comm);
// Messages where a rank may play several peers: rank_of[p] plays peer p, and this is the peer `self`. Throws unsupported where a rank
// plays more peers than MPI has tags for (181 of each at least).
[[nodiscard]] std::unique_ptr<Messages> make_mpi_messages(MPI_Comm comm, int self, const std::vector<int>& rank_of);

}  // namespace glean::transport
