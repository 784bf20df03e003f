// SPDX-License-Identifier: BSD-3-Clause
//
// Every rank holds a slab of a 64 x 64 x 64 grid and writes its temperature, in four steps, into one NetCDF
// file.
//
//   mpirun -n 4 minimal [DIRECTORY]
#include <mpi.h>

#include <glean/glean.hpp>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    glean::Session session(MPI_COMM_WORLD);

    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
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

    for (int step = 0; step < 4; ++step) {
      const std::vector<double> values(slabs * 64 * 64, 300.0 + step);   // computed here, in a real program
      output.begin_step();
      output.put(temperature, values);   // one copy; `values` may be overwritten or freed at once
      output.end_step();
    }
    output.close();    // does not wait for the disk
    session.close();   // does: the file is complete, durable and visible
  }
  MPI_Finalize();
}
