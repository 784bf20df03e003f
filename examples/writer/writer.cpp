// SPDX-License-Identifier: BSD-3-Clause
//
// The file of `minimal` from a program that can have a rank set aside to write, and computes on the others. It is the same
// program in all modes.
//
//   GLEAN_MODE=dedicated mpirun -n 5 writer [DIRECTORY]     # four compute; of each node one does not
#include <mpi.h>

#include <glean/glean.hpp>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    glean::Session session(MPI_COMM_WORLD);   // returns on the writer when the others have closed it
    if (session.is_writer()) {
      MPI_Finalize();
      return 0;
    }
    const MPI_Comm comm = session.application_comm();   // from here on instead of MPI_COMM_WORLD

    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const std::uint64_t first = 64UL * rank / ranks, slabs = 64UL * (rank + 1) / ranks - first;

    const std::string directory = argc > 1 ? argv[1] : ".";
    glean::Output output = session.open(directory + "/heat.nc", glean::Format::cdf5);
    const glean::Grid grid = output.define_grid(
        glean::UniformGrid{.shape = {64, 64, 64},
                           .origin = {0, 0, 0},
                           .spacing = {0.1, 0.1, 0.1},
                           .blocks = {{.start = {first, 0, 0}, .count = {slabs, 64, 64}}},
                           .dimension_names = {}});
    const glean::Variable temperature =
        output.define_variable("temperature", glean::Type::float32, grid, {.per_step = true});
    output.define_attribute(temperature, "units", "K");

    std::vector<double> values(slabs * 64 * 64, 300.0);
    for (int step = 0; step < 4; ++step) {
      output.begin_step();
      output.put(temperature, values);
      output.end_step();
      // The computation, which has its neighbours on `comm`.
      double warmest = 0, mine = values.empty() ? 0 : values.front();
      MPI_Allreduce(&mine, &warmest, 1, MPI_DOUBLE, MPI_MAX, comm);
      values.assign(values.size(), warmest + 1);
    }
    output.close();
    session.close();   // the writer ends, too
  }
  MPI_Finalize();
}
