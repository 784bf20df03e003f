// SPDX-License-Identifier: BSD-3-Clause
//
// A job that goes on when it is told: `paced DIRECTORY [MARKS]` writes there
//
//   series.nc   6 steps: of a variable with records, and of one without, which is put in parts, step by step
//   filled.nc   the same with holes, which are filled
//   chk_0.nc, chk_2.nc, chk_4.nc   checkpoints, each of one step
//
// Before step S, the end of all (6) or that of the session (7), it makes at.S in MARKS, or in DIRECTORY, and waits for go.S there or go.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "glean/glean.hpp"

namespace {

constexpr std::uint64_t cells = 20'000, steps = 6;
namespace fs = std::filesystem;

struct Part {
  std::uint64_t rank = 0, ranks = 1;
};

std::vector<double> values(const Part& part, std::uint64_t step, std::uint64_t count) {
  std::vector<double> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = static_cast<double>(1'000'000 * step + 100'000 * part.rank + i);
  return all;
}

class Series {
 public:
  Series(glean::Session& session, const std::string& path, const Part& part, glean::Fill fill)
      : out(session.open(path, glean::Format::cdf5)), part_(part), put_(fill == glean::Fill::on ? cells / 2 : cells) {
    const glean::Dimension t = out.define_unlimited("t"), x = out.define_dimension("x", cells * part.ranks);
    const glean::Dimension records[] = {t, x}, fixed[] = {x};
    const glean::Box mine{{cells * part.rank}, {put_}};
    records_ = out.define_variable("v", glean::Type::float64, records, {mine}, {.fill = fill});
    fixed_ = out.define_variable("g", glean::Type::float32, fixed, {mine}, {.fill = fill});
    out.end_definitions();
  }
  void put(std::uint64_t step) {
    const std::uint64_t in_step = put_ / steps;
    out.begin_step();
    out.put(records_, values(part_, step, put_));
    const std::vector<double> some = values(part_, step, in_step);
    out.put(fixed_, glean::Box{{cells * part_.rank + step * in_step}, {in_step}}, some.data());
    out.end_step();
  }

  glean::Output out;

 private:
  Part part_;
  std::uint64_t put_;
  glean::Variable records_, fixed_;
};

void checkpoint(glean::Session& session, const std::string& path, const Part& part, std::uint64_t step) {
  glean::Output out = session.open(path, glean::Format::cdf5);
  const glean::Dimension x[] = {out.define_dimension("x", cells * part.ranks)};
  const glean::Variable variable = out.define_variable("c", glean::Type::float64, x, {glean::Box{{cells * part.rank}, {cells}}});
  out.end_definitions();
  out.begin_step();
  out.put(variable, values(part, step, cells));
  out.end_step();
  out.close();
}

void run(const std::string& directory, const std::string& marks) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Part part{static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks)};
  const auto wait_at = [&](std::uint64_t step) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::ofstream(marks + "/at." + std::to_string(step)) << getpid() << '\n';
    // Each rank looks by itself: in MPI it would keep a core busy.
    while (!fs::exists(marks + "/go") && !fs::exists(marks + "/go." + std::to_string(step))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  };
  glean::Session session(MPI_COMM_WORLD);
  Series series(session, directory + "/series.nc", part, glean::Fill::off);
  Series filled(session, directory + "/filled.nc", part, glean::Fill::on);
  for (std::uint64_t step = 0; step < steps; ++step) {
    wait_at(step);
    if (step % 2 == 0) checkpoint(session, directory + "/chk_" + std::to_string(step) + ".nc", part, step);
    series.put(step);
    filled.put(step);
  }
  wait_at(steps);
  series.out.close();
  filled.out.close();
  wait_at(steps + 1);
  session.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    run(argv[1], argv[argc > 2 ? 2 : 1]);
  } catch (const glean::Error& error) {
    std::fprintf(stderr, "told: %s\n", error.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
