// SPDX-License-Identifier: BSD-3-Clause
//
// How a call on a captured file fails: as an error code that the file's error handler is told.
#pragma once

#include <mpi.h>

#include <optional>

#include "base/error.hpp"

namespace glean::mpiio {

// Ends a call; does not leave the wrapper.
struct CallFailed {
  int code;
  bool handler_was_called;   // by the MPI library, for the program's own handle
};

[[noreturn]] inline void fail(int code) { throw CallFailed{code, false}; }

// What a call of the MPI library on a handle of ours has returned; its error handler is MPI_ERRORS_RETURN.
inline void succeeded(int code) {
  if (code != MPI_SUCCESS) fail(code);
}

// As succeeded(), for a call on the program's own handle.
inline void succeeded_for_program(int code) {
  if (code != MPI_SUCCESS) throw CallFailed{code, true};
}

// A call that cannot be right: what the MPI library has said to it, on the program's own handle, is the answer. Some let it pass.
[[noreturn]] inline void answer_is(int code) { throw CallFailed{code, true}; }

// MPI's name for it; MPI_SUCCESS for none.
[[nodiscard]] int error_class(const std::optional<base::Error>& error);

}  // namespace glean::mpiio
