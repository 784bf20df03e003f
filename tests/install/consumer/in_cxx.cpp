// SPDX-License-Identifier: BSD-3-Clause
#include <glean/glean.hpp>

#include <cstdio>

// An error that leaves the library is caught by its type, which takes more than a name that links.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    const glean::Session session(MPI_COMM_WORLD, {{"no.such.key", "1"}});
  } catch (const glean::Error& error) {
    status = error.code() == glean::Errc::invalid_config ? 0 : 1;
  }
  std::printf("%s\n", glean::version());
  MPI_Finalize();
  return status;
}
