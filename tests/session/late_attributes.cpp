// SPDX-License-Identifier: BSD-3-Clause
//
// late_attributes WAY FILE: writes two steps and an attribute that is set late, and is killed: `open` before it closes the output,
// `closing` when rank 0 alone has closed it, `closed` when all have.
// late_attributes check FILE: prints, on one rank, the attribute and how many records there are.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

using namespace glean;

constexpr std::uint64_t per_rank = 200'000;

void write(const std::string& way, const std::string& path, int rank, int ranks) {
  Session session(MPI_COMM_WORLD, {{"pool.budget", "64MiB"}});
  Output out = session.open(path, Format::cdf5);
  const Dimension over[] = {out.define_unlimited("t"), out.define_dimension("x", per_rank * static_cast<std::uint64_t>(ranks))};
  const Variable v = out.define_variable("v", Type::float64, over, {Box{{per_rank * static_cast<std::uint64_t>(rank)}, {per_rank}}},
                                         {.fill = Fill::on});
  out.define_attribute("state", "under way");
  out.allow_attribute_change("state");
  out.end_definitions();
  const std::vector<double> data(per_rank, 1.5);
  for (int step = 0; step < 2; ++step) {
    out.begin_step();
    out.put(v, data);
    out.end_step();
  }
  out.set_attribute("state", "done");
  out.wait(Level::staged);
  if (way == "closed" || (way == "closing" && rank == 0)) out.close();
  if (way == "closing" && rank == 0) usleep(200'000);   // the drain may take it up
  MPI_Barrier(MPI_COMM_WORLD);
  kill(getpid(), SIGKILL);
}

void check(const std::string& path) {
  Session session(MPI_COMM_SELF, {{"pool.budget", "4MiB"}});
  const Input in = session.open_input(path);
  const std::vector<char> text = in.attribute<char>("state");
  const std::string state(text.begin(), text.end());
  std::printf("%s %llu\n", state.c_str(), static_cast<unsigned long long>(in.steps()));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string way = argv[1];
  if (way == "check") check(argv[2]);
  else write(way, argv[2], rank, ranks);
  MPI_Finalize();
}
