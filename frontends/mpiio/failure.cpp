// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

namespace glean::mpiio {

int error_class(const std::optional<base::Error>& error) {
  if (!error) return MPI_SUCCESS;
  switch (error->code()) {
    case base::Errc::no_space: return MPI_ERR_NO_SPACE;
    case base::Errc::permission: return MPI_ERR_ACCESS;
    case base::Errc::exists: return MPI_ERR_FILE_EXISTS;
    case base::Errc::not_found: return MPI_ERR_NO_SUCH_FILE;
    case base::Errc::invalid_argument: return MPI_ERR_ARG;
    case base::Errc::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    default: return MPI_ERR_IO;
  }
}

}  // namespace glean::mpiio
