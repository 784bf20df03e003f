// SPDX-License-Identifier: BSD-3-Clause
//
// What to do when one rank throws (docs/errors.md). The last rank cannot compute step 2.
//
//   mpirun -n 4 one_rank_throws DIRECTORY             # the ranks agree on it, leave the step out and go on
//   mpirun -n 4 one_rank_throws DIRECTORY careless    # only that rank leaves it out: GLEAN tells all ranks, and none hangs
#include <mpi.h>

#include <cstdio>
#include <glean/glean.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int rank = 0, ranks = 1;

std::vector<double> compute(int step) {
  if (step == 2 && rank == ranks - 1) throw std::runtime_error("the solver diverged");
  return std::vector<double>(1000, 300.0 + step);
}

// Whether all ranks have succeeded. All ranks call it, so all know the same afterwards.
bool all_have(bool succeeded) {
  int mine = succeeded ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

void write(glean::Session& session, const std::string& path, bool is_careless) {
  glean::Output output = session.open(path, glean::Format::cdf5);
  const glean::Dimension dimensions[] = {output.define_unlimited("time"), output.define_dimension("x", 1000UL * ranks)};
  const glean::Variable temperature = output.define_variable("temperature", glean::Type::float64, dimensions,
                                                             {{{1000UL * rank}, {1000}}}, {.per_step = true});
  for (int step = 0; step < 4; ++step) {
    std::vector<double> values;
    bool computed = true;
    try {
      values = compute(step);
    } catch (const std::exception& error) {
      std::printf("rank %d, step %d: %s\n", rank, step, error.what());
      computed = false;
    }
    if (is_careless ? !computed : !all_have(computed)) continue;
    output.begin_step();
    output.put(temperature, values);
    output.end_step();
    if (is_careless) output.wait(glean::Level::written);   // a collective call, which one rank makes once less often
  }
  output.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string directory = argc > 1 ? argv[1] : ".";
  const bool is_careless = argc > 2;
  int status = 0;
  try {
    glean::Session session(MPI_COMM_WORLD, {{"pool.deadline", "30s"}});
    write(session, directory + (is_careless ? "/careless.nc" : "/heat.nc"), is_careless);
    session.close();
  } catch (const glean::Error& error) {
    std::printf("rank %d: %s\n", rank, error.what());
    status = 1;
  }
  std::fflush(stdout);
  MPI_Finalize();   // all ranks come here, whatever has happened
  return is_careless ? 0 : status;
}
