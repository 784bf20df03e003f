// SPDX-License-Identifier: BSD-3-Clause
//
// endings WAY DIRECTORY: a program that ends, or waits, in a way of its own; endings_test.py looks at what is left.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

volatile std::sig_atomic_t handled = 0;

glean::Output open(glean::Session& session, const std::string& path, int rank, bool late) {
  glean::Output output = session.open(path, glean::Format::cdf5);
  const glean::Dimension dimensions[] = {output.define_unlimited("t"), output.define_dimension("x", 2000)};
  const glean::Box mine{{static_cast<std::uint64_t>(rank) * 1000}, {1000}};
  static_cast<void>(output.define_variable("v", glean::Type::float64, dimensions, {mine}));
  if (late && rank == 1) sleep(2);
  output.end_definitions();
  return output;
}

void step(glean::Output& output, double value) {
  output.begin_step();
  output.put(output.find_variable("v"), std::vector<double>(1000, value));
  output.end_step();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string way = argv[1], directory = argv[2];
  if (way == "handler") std::signal(SIGTERM, [](int) { handled = 1; });
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "4MiB"}});
    glean::Output output = open(session, directory + "/out.nc", rank, way == "late");
    step(output, 1);
    if (way == "sigterm") {
      if (rank == 0) step(output, 2);   // not complete: rank 1 does not end it
      MPI_Barrier(MPI_COMM_WORLD);
      raise(SIGTERM);
      for (;;) pause();
    }
    if (way == "handler") raise(SIGTERM);
    output.close();
    session.close();
  }
  if (way == "after") {   // the session is closed: SIGTERM is what it was
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGTERM);
  }
  MPI_Finalize();
  return way == "handler" && handled == 0 ? 1 : 0;
}
