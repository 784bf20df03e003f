/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fortran's communicators are integers, in mpi_f08 inside of a type; only C can make a handle of one.
 */
#include "glean/glean.h"

GLEAN_CHECKED glean_status glean_fortran_session_open(int comm, const glean_setting *settings, size_t setting_count,
                                                      glean_session **session, char *message, size_t message_bytes) {
  return glean_session_open(MPI_Comm_f2c(comm), settings, setting_count, session, message, message_bytes);
}

GLEAN_CHECKED glean_status glean_fortran_session_comm(glean_session *session, int *comm) {
  MPI_Comm computing = MPI_COMM_NULL;
  const glean_status status = glean_session_comm(session, &computing);
  if (status == GLEAN_OK) *comm = MPI_Comm_c2f(computing);
  return status;
}
