// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks agree on an error before any of them leaves a collective call.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace glean::session {

// Messages of this process go on, as in calls of MPI that wait. Local.
void poll_messages();

// While a rank waits for the others in one of the calls below, it calls `meanwhile` again and again, with the seconds that it has waited
// in it: what they wait for may be that it moves data, and it may find that they do not come any more. What it throws ends the wait, and
// then no rank can use `comm` again: MPI is left with the operation. For `comm` and not for its duplicates, as long as both live; on all of
// its ranks or none. Local.
using Meanwhile = std::function<void(double)>;
void set_meanwhile(MPI_Comm comm, const Meanwhile* meanwhile);

// MPI_Bcast and MPI_Allreduce so. Collective.
void broadcast(MPI_Comm comm, int root, void* bytes, std::size_t count);
void reduce_all(MPI_Comm comm, const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op);

// Sums of what the ranks before this one have, 0 on rank 0. Collective.
[[nodiscard]] std::vector<std::uint64_t> sums_before(MPI_Comm comm, const std::vector<std::uint64_t>& mine);

// `count` bytes of each rank, one after the other, to `all` on rank 0. Collective.
void gather_bytes(MPI_Comm comm, const void* mine, void* all, std::size_t count);

// A message of a rank to another one, which knows how long it is. Both block.
void send_bytes(MPI_Comm comm, int to, const void* bytes, std::size_t count);
void receive_bytes(MPI_Comm comm, int from, void* bytes, std::size_t count);

// Messages to and from other ranks, all on their way together. Those to receive have the length that they will have, and between two ranks
// they come in the order in which they are sent. Blocks.
struct BytesOfRank {
  int rank = 0;
  std::vector<std::byte> bytes;
};
void exchange_bytes(MPI_Comm comm, std::vector<BytesOfRank> sent, std::vector<BytesOfRank>& received);

// So many words of each rank, one after the other, on every rank. Collective.
[[nodiscard]] std::vector<std::uint64_t> gather_on_all(MPI_Comm comm, const std::vector<std::uint64_t>& mine);

// What all ranks have, one after the other, on rank 0; nothing on the others. Collective.
[[nodiscard]] std::vector<std::uint64_t> gather(MPI_Comm comm, const std::vector<std::uint64_t>& mine);

// The error of rank `root`, on every rank. Collective, one broadcast.
[[nodiscard]] base::Error error_of(MPI_Comm comm, int root, const std::optional<base::Error>& mine);

// That of the lowest rank that has one; one has. Collective, a reduction and a broadcast.
[[nodiscard]] base::Error error_of_first(MPI_Comm comm, const std::optional<base::Error>& mine);

// Throws on every rank the error of the lowest rank that has one; returns if none has. Collective, one reduction, and a
// broadcast if something failed.
void agree(MPI_Comm comm, const std::optional<base::Error>& mine);

// Throws on every rank the error of rank 0, if it has one; otherwise all get its value. Collective, one small broadcast:
// rank 0 does not wait for the others.
void follow_root(MPI_Comm comm, const std::optional<base::Error>& of_root, void* value, int value_bytes);

// What a rank brings along when an output's definitions end.
struct Proposal {
  std::uint64_t fingerprint = 0;      // of all that must be the same everywhere
  std::uint64_t root_word = no_word;  // of rank 0: what it has made already
  std::optional<base::Error> error;
  int label = 0;                      // what errors call this rank
  static constexpr std::uint64_t no_word = ~std::uint64_t{0};
};
// Of all ranks: rank 0's word, and the error of the lowest rank that has one, or the name of a rank whose fingerprint is
// not rank 0's. The same on all ranks. Collective, one reduction, and more if something failed. `reduce` makes of four words of each rank
// the least ones of all; does not throw if that does not.
struct Outcome {
  std::uint64_t root_word = Proposal::no_word;
  std::optional<base::Error> error;
};
using FourWords = std::array<std::uint64_t, 4>;
[[nodiscard]] Outcome settle(MPI_Comm comm, const Proposal& mine, const std::function<FourWords(const FourWords&)>& reduce);

// What `action` throws, as a value. Errors of other kinds than base::Error become Errc::io.
template <class Action>
[[nodiscard]] std::optional<base::Error> caught(Action action) {
  try {
    action();
    return std::nullopt;
  } catch (const base::Error& error) {
    return error;
  } catch (const std::exception& error) {
    return base::Error(base::Errc::io, error.what());
  }
}

// Runs `action(value)` on rank 0; every rank gets the value, or throws what it threw. Collective, one small broadcast.
template <class Value, class Action>
[[nodiscard]] Value on_root(MPI_Comm comm, Action action) {
  static_assert(std::is_trivially_copyable_v<Value>);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Value value{};
  std::optional<base::Error> error;
  if (rank == 0) error = caught([&] { action(value); });
  follow_root(comm, error, &value, static_cast<int>(sizeof value));
  return value;
}

}  // namespace glean::session
