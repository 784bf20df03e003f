// SPDX-License-Identifier: BSD-3-Clause
//
// A handle of the MPI library's by which the program writes a file past GLEAN: as long as it is open, no rank captures that file.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "pool/other_handles.hpp"
#include "session/core.hpp"

namespace glean::mpiio {

class PassedHandle {
 public:
  // For a handle that all ranks of `comm` have just opened there to write. Null on ranks that need not do anything: one of each node says
  // it. Local.
  [[nodiscard]] static std::shared_ptr<PassedHandle> of(std::shared_ptr<session::Core> core, MPI_Comm comm, const std::string& path);
  PassedHandle(std::shared_ptr<session::Core> core, const pool::FileId& file) : core_(std::move(core)), file_(file) {}
  ~PassedHandle();
  PassedHandle(const PassedHandle&) = delete;
  PassedHandle& operator=(const PassedHandle&) = delete;

 private:
  std::shared_ptr<session::Core> core_;
  pool::FileId file_;
};

}  // namespace glean::mpiio
