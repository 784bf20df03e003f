// SPDX-License-Identifier: BSD-3-Clause
//
// endings WAY DIRECTORY: a program that ends in a way of its own; endings_test.py looks at what is left.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "glean/glean.hpp"

namespace {

volatile std::sig_atomic_t handled = 0;

constexpr std::uint64_t per_rank = 20'000;

MPI_Comm comm = MPI_COMM_WORLD;   // of those that compute

// Each of several nodes puts what another one writes.
glean::Output open(glean::Session& session, const std::string& path, int rank) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  glean::Output output = session.open(path, glean::Format::cdf5);
  const glean::Dimension dimensions[] = {output.define_unlimited("t"),
                                         output.define_dimension("x", per_rank * static_cast<std::uint64_t>(size))};
  const glean::Box mine{{static_cast<std::uint64_t>(size - 1 - rank) * per_rank}, {per_rank}};
  static_cast<void>(output.define_variable("v", glean::Type::float64, dimensions, {mine}));
  output.end_definitions();
  return output;
}

void step(glean::Output& output, double value) {
  output.begin_step();
  output.put(output.find_variable("v"), std::vector<double>(per_rank, value));
  output.end_step();
}

void leave_by_exception(glean::Session& session, glean::Output& output) {
  try {
    const glean::Session ends = std::move(session);
    const glean::Output goes = std::move(output);
    throw std::runtime_error("of the application");
  } catch (const std::runtime_error&) {
  }
}

// It tells all to end when one has gone.
void wait_for_the_launcher() {
  while (handled == 0) usleep(1000);
}

// Rank 1 is killed in the middle of a step, and the others end their session by an exception.
[[noreturn]] void lose_rank_1(glean::Session& session, glean::Output& output, int rank, bool others_close) {
  if (rank != 1) step(output, 2);
  if (rank != 1 && others_close) output.close();
  MPI_Barrier(comm);
  if (rank == 1) raise(SIGKILL);
  wait_for_the_launcher();
  leave_by_exception(session, output);
  _exit(3);
}

// The writer of the last node is killed, and the others close what they have.
[[noreturn]] void lose_a_writer(glean::Session& session, glean::Output& output, int rank, pid_t writer) {
  MPI_Barrier(comm);
  if (rank == 0) kill(writer, SIGKILL);
  wait_for_the_launcher();
  output.close();
  try {
    session.close();
  } catch (const glean::Error& error) {
    std::fprintf(stderr, "rank %d is told: %s\n", rank, error.what());
  }
  _exit(3);
}

// Ranks 0 and 1 end their session by an exception while the others are not in calls of the library; rank 1 comes a little later.
[[noreturn]] void leave_apart(glean::Session& session, glean::Output& output, int rank) {
  if (rank == 1) usleep(200'000);
  output.close();
  if (rank > 1) MPI_Barrier(comm);
  leave_by_exception(session, output);
  if (rank <= 1) MPI_Barrier(comm);
  MPI_Barrier(comm);
  _exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string way = argv[1], directory = argv[2];
  if (way != "sigterm" && way != "after") std::signal(SIGTERM, [](int) { handled = 1; });
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pid_t last = getpid();
  MPI_Bcast(&last, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  {
    glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "4MiB"}, {"drain.request", "64KiB"}});
    if (session.is_writer()) return MPI_Finalize();
    comm = session.application_comm();
    MPI_Comm_rank(comm, &rank);
    glean::Output output = open(session, directory + "/out.nc", rank);
    step(output, 1);
    if (way == "sigterm") {
      if (rank == 0) step(output, 2);   // not complete: rank 1 does not end it
      MPI_Barrier(comm);
      raise(SIGTERM);
      for (;;) pause();
    }
    if (way == "handler") raise(SIGTERM);
    if (way == "killed" || way == "killed-closed") lose_rank_1(session, output, rank, way == "killed-closed");
    if (way == "writer-killed") lose_a_writer(session, output, rank, last);
    if (way == "apart") leave_apart(session, output, rank);
    output.close();
    if (way == "aborted") {   // with nothing left to do
      session.wait(glean::Level::durable);
      MPI_Barrier(comm);
      raise(SIGKILL);
    }
    if (way == "unclosed") return MPI_Finalize();   // and only then the session ends
    session.close();
  }
  if (way == "after") {   // the session is closed: SIGTERM is what it was
    MPI_Barrier(comm);
    raise(SIGTERM);
  }
  MPI_Finalize();
  return way == "handler" && handled == 0 ? 1 : 0;
}
