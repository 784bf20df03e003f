// SPDX-License-Identifier: BSD-3-Clause
#include "status.hpp"

#include "failure.hpp"

namespace glean::mpiio {
namespace {

int query(void* state, MPI_Status* status) {
  set_status(status, *static_cast<base::Bytes*>(state));
  return MPI_SUCCESS;
}

int free_state(void* state) {
  delete static_cast<base::Bytes*>(state);
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }   // what is captured stays so

}  // namespace

void set_status(MPI_Status* status, base::Bytes bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  // Both MPIs keep bytes in a status; the datatype may be gone when a request's status is asked for.
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(status, 0);
}

MPI_Request completed_request(base::Bytes bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  auto* state = new base::Bytes(bytes);
  if (const int code = PMPI_Grequest_start(query, free_state, cancel, state, &request); code != MPI_SUCCESS) {
    delete state;
    fail(code);
  }
  succeeded(PMPI_Grequest_complete(request));
  return request;
}

}  // namespace glean::mpiio
