// SPDX-License-Identifier: BSD-3-Clause
//
// The helper is killed while rank 0 waits in MPI for rank 1, which waits in a put for the drain. Rank 0 has to go on
// draining, or both wait for ever.
//
//   mpirun -n 2 helper_death_test FILE COMMAND
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <glean/glean.hpp>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t values = 1'000'000;   // 8 MB, through a pool of 2 MiB
constexpr int steps = 4;

std::string command_line(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline");
  return {std::istreambuf_iterator<char>(file), {}};
}

// It drains a pool that is called by the process of rank 0.
void kill_helper_of(int root_pid) {
  const std::string maker = "." + std::to_string(root_pid) + ".";
  int killed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string words = command_line(entry.path());
    if (words.find(std::string("drain\0/glean.", 13)) == std::string::npos || words.find(maker) == std::string::npos) continue;
    killed += kill(std::stoi(entry.path().filename()), SIGKILL) == 0;
  }
  if (killed != 1) throw std::runtime_error(std::to_string(killed) + " helpers were found");
}

void run(const std::string& path, int rank) {
  glean::Session session(MPI_COMM_WORLD);
  int root_pid = getpid();
  MPI_Bcast(&root_pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
  {
    glean::Output output = session.open(path, glean::Format::cdf5);
    const glean::Dimension dimensions[] = {output.define_unlimited("time"), output.define_dimension("x", values)};
    const glean::Box all{{0}, {rank == 1 ? values : 0}};
    const auto variable = output.define_variable("v", glean::Type::float64, dimensions, {all}, {.per_step = true});
    output.end_definitions();
    if (rank == 1) kill_helper_of(root_pid);
    for (int step = 0; step < steps; ++step) {
      output.begin_step();
      output.put(variable, std::vector<double>(all.count[0], step));
      output.end_step();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    output.close();
  }
  session.wait(glean::Level::durable);
  std::vector<double> read;
  if (rank == 0) read = session.open_input(path).read<double>({0}, steps - 1);
  if (rank == 0 && read != std::vector<double>(values, steps - 1)) throw std::runtime_error("the last step is not there");
  session.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  setenv("GLEAN_DRAIN_PLACE", "process", 1);
  setenv("GLEAN_DRAIN_COMMAND", argv[2], 1);
  setenv("GLEAN_POOL_BUDGET", "2MiB", 1);
  setenv("GLEAN_POOL_DEADLINE", "20s", 1);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    run(argv[1], rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
