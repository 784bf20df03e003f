// SPDX-License-Identifier: BSD-3-Clause
//
// A program that forgets to close its session before MPI_Finalize.
// What it has closed is complete all the same.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "glean/glean.hpp"

namespace {

int check(bool good, const char* what) {
  if (!good) std::fprintf(stderr, "late_test: %s\n", what);
  return good ? 0 : 1;
}

template <class Call>
bool is_invalid_state(const Call& call) {
  try {
    call();
  } catch (const glean::Error& error) {
    return error.code() == glean::Errc::invalid_state;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("GLEAN_CONFIG", "", 1);
  int failed = check(is_invalid_state([] { glean::Session session(MPI_COMM_WORLD); }), "a session before MPI_Init");
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string directory = (std::filesystem::temp_directory_path() / "glean-late-XXXXXX").string();
  if (rank == 0 && mkdtemp(directory.data()) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(directory.data(), static_cast<int>(directory.size()), MPI_CHAR, 0, MPI_COMM_WORLD);

  std::optional<glean::Session> session;
  session.emplace(MPI_COMM_WORLD, std::map<std::string, std::string>{
                                      {"pool.budget", "8MiB"}, {"log.level", "off"}, {"pool.deadline", "20s"}});
  std::vector<glean::Output> outputs;
  for (const char* mode : {"closed.nc", "open.nc"}) {
    outputs.push_back(session->open(directory + "/" + mode, glean::Format::cdf5));
    glean::Output& out = outputs.back();
    const glean::Dimension x = out.define_dimension("x", 100'000);
    const glean::Variable v = out.define_variable("v", glean::Type::float64, std::span(&x, 1),
                                                  {glean::Box{{0}, {rank == 0 ? 100'000U : 0U}}});
    out.begin_step();
    out.put(v, std::vector<double>(rank == 0 ? 100'000 : 0, 1.5));
    out.end_step();
  }
  outputs[0].close();
  std::optional<glean::Input> input(session->open_input(directory + "/open.nc", {.reading = glean::Reading::written}));
  failed |= check(input->steps() == 0, "a file without records is read");
  MPI_Finalize();
  input.reset();

  failed |= check(is_invalid_state([&] { session->close(); }), "closing after MPI_Finalize is refused");
  failed |= check(is_invalid_state([&] { session->wait(glean::Level::durable); }), "waiting after MPI_Finalize is refused");
  session.reset();
  outputs.clear();
  if (rank != 0) return failed;
  failed |= check(std::filesystem::exists(directory + "/closed.nc"), "what was closed is published");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++files;
  failed |= check(files == 1, "nothing else is left");
  std::filesystem::remove_all(directory);
  return failed;
}
