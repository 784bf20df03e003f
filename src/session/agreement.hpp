// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks agree on an error before any of them leaves a collective call.
#pragma once

#include <mpi.h>

#include <exception>
#include <optional>
#include <type_traits>

#include "base/error.hpp"

namespace glean::session {

// Throws on every rank the error of the lowest rank that has one; returns if none has. Collective, one reduction, and a
// broadcast if something failed.
void agree(MPI_Comm comm, const std::optional<base::Error>& mine);

// Throws on every rank the error of rank 0, if it has one. Collective, one broadcast.
void follow_root(MPI_Comm comm, const std::optional<base::Error>& of_root, void* value, int value_bytes);

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

// Runs `action(value)` on rank 0; every rank gets the value, or throws what it threw. Collective, one broadcast.
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
