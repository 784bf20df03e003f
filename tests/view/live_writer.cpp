// SPDX-License-Identifier: BSD-3-Clause
//
// live_writer FILE STEPS MILLISECONDS [EDGE]: each rank puts its slab of rho[EDGE, 16, 24] in each step, which is 1000 step + 100 z + y;
// the last element of all is NaN. Rank 0 prints "step N TIME" when it has ended one, and the file stays open until standard input ends.
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <glean/glean.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void write_steps(const std::string& path, int steps, int milliseconds, std::uint64_t edge) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::uint64_t first = edge * rank / ranks, slabs = edge * (rank + 1) / ranks - first;
  glean::Session session(MPI_COMM_WORLD);
  glean::Output output = session.open(path, glean::Format::cdf5);
  const glean::Grid grid = output.define_grid(glean::UniformGrid{.shape = {edge, 16, 24},
                                                                 .origin = {0, 0, 0},
                                                                 .spacing = {1, 1, 1},
                                                                 .blocks = {{.start = {first, 0, 0}, .count = {slabs, 16, 24}}},
                                                                 .dimension_names = {}});
  const glean::Variable rho = output.define_variable("rho", glean::Type::float32, grid, {.per_step = true});
  output.define_attribute(rho, "units", "kg/m3");
  for (int step = 0; step < steps; ++step) {
    std::vector<double> values(slabs * 16 * 24);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 1000.0 * step + 100.0 * static_cast<double>(first + i / (16 * 24)) + static_cast<double>(i / 24 % 16);
    }
    if (rank == ranks - 1) values.back() = std::nan("");
    output.begin_step();
    output.put(rho, values);
    output.end_step();
    if (rank == 0) {
      std::printf("step %d %.6f\n", step, now());
      std::fflush(stdout);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) static_cast<void>(std::getchar());
  MPI_Barrier(MPI_COMM_WORLD);
  output.close();
  session.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 3) write_steps(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 8);
  MPI_Finalize();
  return argc > 3 ? 0 : 2;
}
