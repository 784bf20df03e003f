// SPDX-License-Identifier: BSD-3-Clause
//
// A job whose file is to find no room.
//
//   filled PATH closed    ends when its stagers have all: most of the 4 MiB is fill values, which are written when all ranks have closed it
//   filled PATH waits     the same, and waits for the file
//   filled PATH open      puts all of it, and waits for it before the file is closed
//
// Every rank says on standard error what it is told, and ends with 1 then.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

constexpr std::uint64_t cells = 512 * 1024, few = 16;

void write(glean::Session& session, const std::string& path, const std::string& what, int rank, int ranks) {
  glean::Output out = session.open(path, glean::Format::cdf5);
  const auto all = static_cast<std::uint64_t>(ranks), count = what == "open" ? cells / all : few;
  const glean::Dimension dimensions[] = {out.define_dimension("x", cells)};
  const glean::Variable variable = out.define_variable("v", glean::Type::float64, dimensions,
                                                       {glean::Box{{count * static_cast<std::uint64_t>(rank)}, {count}}},
                                                       {.fill = glean::Fill::on});
  out.end_definitions();
  out.begin_step();
  out.put(variable, std::vector<double>(count, 1.25 + rank));
  out.end_step();
  if (what == "open") out.wait(glean::Level::durable);
  out.close();
  if (what == "waits") out.wait(glean::Level::durable);
}

int status_of(const std::function<void()>& call) {
  try {
    call();
    return 0;
  } catch (const glean::Error& error) {
    std::fprintf(stderr, "told: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  {
    glean::Session session(MPI_COMM_WORLD);
    status = status_of([&] { write(session, argv[1], argv[2], rank, ranks); });
    status |= status_of([&] { session.close(); });
  }
  MPI_Finalize();
  return status;
}
