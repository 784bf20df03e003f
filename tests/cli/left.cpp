// SPDX-License-Identifier: BSD-3-Clause
//
// A program that is killed in the middle: the tests of `glean recover` look at what it leaves.
//
//   left DIRECTORY whole          writes what is to be found in the end
//   left DIRECTORY killed         comes as far as it comes, and waits for its end
//   left DIRECTORY forgets        comes as far, and ends without closing its session
//   left DIRECTORY begins         of no output a step is complete
//   left DIRECTORY aborts         aborts (MPI_Abort) when all that it has written is on the storage
//
// closed.nc: 2 steps, closed. open.nc: 3 steps, of the next one rank 0 has ended its part. begun.nc: no step is complete.
// With DIRECTORY/hold it waits, once its outputs are open, until that is gone.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "glean/glean.hpp"

namespace {

class File {
 public:
  File(glean::Session& session, const std::string& path, int rank, int ranks)
      : out(session.open(path, glean::Format::cdf5)), values_(20'000) {
    const auto mine = static_cast<std::uint64_t>(rank), all = static_cast<std::uint64_t>(ranks);
    const glean::Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", values_.size() * all)};
    variable_ = out.define_variable("v", glean::Type::float64, dimensions,
                                    {glean::Box{{values_.size() * mine}, {values_.size()}}});
    out.end_definitions();
  }
  void begin(int step) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = 1000.0 * step + static_cast<double>(i);
    out.begin_step();
    out.put(variable_, values_);
  }
  void steps(int count) {
    for (int step = 0; step < count; ++step) {
      begin(step);
      out.end_step();
    }
  }

  glean::Output out;

 private:
  std::vector<double> values_;
  glean::Variable variable_;
};

void run(const std::string& directory, const std::string& what) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto tell = [&](const std::string& name) { std::ofstream(directory + "/" + name) << getpid() << '\n'; };
  tell("rank." + std::to_string(rank));
  glean::Session session(MPI_COMM_WORLD);
  File closed(session, directory + "/closed.nc", rank, ranks), open(session, directory + "/open.nc", rank, ranks);
  std::optional<File> begun;
  if (what == "killed" || what == "forgets") begun.emplace(session, directory + "/begun.nc", rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) tell("opened");
  while (std::filesystem::exists(directory + "/hold")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  MPI_Barrier(MPI_COMM_WORLD);

  const auto wait_for_the_end = [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) tell("ready");
    for (;;) pause();
  };
  if (what == "begins") {
    closed.begin(0);
    open.begin(0);
    wait_for_the_end();
  }
  closed.steps(2);
  closed.out.close();
  open.steps(3);
  if (what == "aborts") {
    open.out.close();
    session.wait(glean::Level::durable);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      tell("ready");
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (;;) pause();
  }
  if (what == "whole") {
    open.out.close();
    return session.close();
  }
  begun->begin(0);
  open.begin(3);
  if (rank == 0) open.out.end_step();
  if (what != "forgets") wait_for_the_end();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) tell("ready");
  MPI_Finalize();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  run(argv[1], argv[2]);
  MPI_Finalize();
}
