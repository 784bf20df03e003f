// SPDX-License-Identifier: BSD-3-Clause
//
// A job whose ranks do not see the directory that the stagers write in.
//
//   elsewhere DIRECTORY write     writes chk_0.nc to chk_2.nc, each read back as soon as it is closed, and others.nc twice
//   elsewhere DIRECTORY restart PATTERN CHECKPOINT
//                                 restarts from the newest complete file of the pattern, which is to be CHECKPOINT
//   elsewhere DIRECTORY waits READY GO
//                                 opens chk_2.nc, makes the file READY, and reads when the file GO is there
//   elsewhere DIRECTORY errors    asks for what cannot be read
//
// Rank 0 says on standard error what is wrong, and every rank ends with 1 then.
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

constexpr std::uint64_t rows = 64, columns = 5000;   // 2.5 MB a step: several answers of a stager

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  ++failures;
}

double value_at(int checkpoint, std::uint64_t step, std::uint64_t cell) {
  return 1000.0 * checkpoint + 0.25 * static_cast<double>(step) + static_cast<double>(cell);
}

glean::Box box_of(int rank, int ranks) {
  const auto part = rows / static_cast<std::uint64_t>(ranks), first = part * static_cast<std::uint64_t>(rank);
  return {{first, 0}, {rank == ranks - 1 ? rows - first : part, columns}};
}

void write(glean::Session& session, const std::string& path, int checkpoint, std::uint64_t steps) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  glean::Output out = session.open(path, path.ends_with(".h5") ? glean::Format::hdf5 : glean::Format::cdf5);
  const glean::Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("y", rows), out.define_dimension("x", columns)};
  const glean::Box box = box_of(rank, ranks);
  const glean::Variable v = out.define_variable("v", glean::Type::float64, dimensions, {box}, {.per_step = true});
  out.end_definitions();
  std::vector<double> values(box.count[0] * columns);
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(checkpoint, step, box.start[0] * columns + i);
    out.begin_step();
    out.put(v, values);
    out.end_step();
  }
  out.close();
}

void check(glean::Input in, int checkpoint, std::uint64_t steps) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(in.steps() == steps, in.path() + " has " + std::to_string(in.steps()) + " steps");
  if (in.steps() != steps) return;
  const glean::Variable v = in.find_variable("v");
  const glean::Box box = box_of(rank, ranks), column = {{0, 7}, {rows, 1}};
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::vector<double> values(box.count[0] * columns), few(rows);
    in.read(v, step, box, values);
    in.read(v, step, column, few);
    bool are_right = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      are_right = are_right && values[i] == value_at(checkpoint, step, box.start[0] * columns + i);
    }
    for (std::size_t i = 0; i < few.size(); ++i) are_right = are_right && few[i] == value_at(checkpoint, step, i * columns + 7);
    expect(are_right, in.path() + ", step " + std::to_string(step));
  }
}

void expect_error(const std::function<void()>& call, glean::Errc code, const std::string& part) {
  try {
    call();
    expect(false, "no error with '" + part + "'");
  } catch (const glean::Error& error) {
    expect(error.code() == code && std::string(error.what()).find(part) != std::string::npos, error.what());
  }
}

void write_all(glean::Session& session, const std::string& directory) {
  for (int checkpoint = 0; checkpoint < 3; ++checkpoint) {
    const std::string path = directory + "/chk_" + std::to_string(checkpoint) + ".nc";
    write(session, path, checkpoint, 2);
    check(session.open_input(path), checkpoint, 2);
  }
  glean::Input restarted = session.restart(directory + "/chk_*.nc");
  expect(restarted.path() == directory + "/chk_2.nc", "restarts from " + restarted.path());
  check(std::move(restarted), 2, 2);
  // What is open stays what it was.
  write(session, directory + "/other.nc", 7, 1);
  glean::Input old = session.open_input(directory + "/other.nc");
  static_cast<void>(old.read<double>(old.find_variable("v"), 0));
  MPI_Barrier(MPI_COMM_WORLD);
  write(session, directory + "/other.nc", 8, 3);
  check(session.open_input(directory + "/other.nc"), 8, 3);
  check(std::move(old), 7, 1);
  expect_error([&] { static_cast<void>(session.open_input(directory + "/chk_3.nc")); }, glean::Errc::not_found, "where the stagers are");
}

bool is_there(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

void read_later(glean::Session& session, const std::string& directory, const std::string& ready, const std::string& go) {
  glean::Input in = session.open_input(directory + "/chk_2.nc");
  check(session.open_input(directory + "/chk_1.nc"), 1, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::fclose(std::fopen(ready.c_str(), "w"));
  for (int i = 0; i < 6000 && !is_there(go); ++i) usleep(10'000);
  expect(is_there(go), "no word to go on");
  check(std::move(in), 2, 2);
  check(session.open_input(directory + "/chk_0.nc"), 0, 2);
}

void ask_for_errors(glean::Session& session, const std::string& directory) {
  using glean::Errc;
  const auto open = [&](const std::string& path) { return [&session, path] { static_cast<void>(session.open_input(path)); }; };
  expect_error(open("/nowhere/a.nc"), Errc::not_found, "touches files below");
  expect_error(open(directory + "/../glean-stage.json.not"), Errc::not_found, "touches files below");
  expect_error(open(directory + "/way_out"), Errc::not_found, "touches files below");
  expect_error(open(directory + "/text"), Errc::invalid_argument, "text");
  expect_error(open(directory + "/file.h5"), Errc::invalid_argument, "file.h5");
  expect_error(open(directory + "/folder"), Errc::invalid_argument, "directory");
  expect_error([&] { static_cast<void>(session.restart(directory + "/none_*.nc")); }, Errc::not_found, "no file matches");
  expect_error([&] { static_cast<void>(session.restart(directory + "/text*")); }, Errc::io, "is complete");
  glean::Output out = session.open(directory + "/open.nc", glean::Format::cdf5);
  out.end_definitions();
  expect_error([&] { static_cast<void>(session.open_input(directory + "/open.nc", {.reading = glean::Reading::written})); },
               Errc::unsupported, "not closed");
  out.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string directory = argv[1], what = argv[2];
  try {
    glean::Session session(MPI_COMM_WORLD);
    if (what == "write") write_all(session, directory);
    if (what == "hdf5") {
      write(session, directory + "/chk_0.h5", 0, 2);
      check(session.open_input(directory + "/chk_0.h5"), 0, 2);
      write(session, directory + "/chk_1.h5", 1, 2);
      check(session.restart(directory + "/chk_*.h5"), 1, 2);
    }
    if (what == "waits") read_later(session, directory, argv[3], argv[4]);
    if (what == "errors") ask_for_errors(session, directory);
    if (what == "restart") {
      glean::Input in = session.restart(argv[3]);
      expect(in.path() == argv[4], "restarts from " + in.path());
      const int checkpoint = in.path()[in.path().rfind('_') + 1] - '0';
      check(std::move(in), checkpoint, 2);
    }
    session.close();
  } catch (const glean::Error& error) {
    expect(false, error.what());
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
