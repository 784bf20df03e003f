// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <string_view>

#include "ranks.hpp"

namespace glean::test {

std::vector<std::string> arguments;

}  // namespace glean::test

int main(int argc, char** argv) {
  // Open MPI's own MPI-IO has written wrong bytes for interleaved ranks; ROMIO has not.
  setenv("OMPI_MCA_io", "^ompio", 0);
  // Bytes that no rank writes read as zeros, unless MPI-IO writes more than it is given to save requests.
  setenv("PNETCDF_HINTS", "romio_ds_write=disable;romio_cb_write=disable", 0);
  // What the environment of the tests says is not for them.
  setenv("GLEAN_CONFIG", "", 1);
  // The library does not care; most programs ask for nothing.
  int provided = 0;
  const bool multiple = argc > 1 && std::string_view(argv[1]) == "multiple";
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  testing::InitGoogleTest(&argc, argv);
  glean::test::arguments.assign(argv + 1, argv + argc);
  int failed = RUN_ALL_TESTS(), failed_anywhere = 0;
  MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed_anywhere;
}
