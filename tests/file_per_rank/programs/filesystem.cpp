// SPDX-License-Identifier: BSD-3-Clause
//
// A program that lists a directory with std::filesystem, and removes it: filesystem DIRECTORY. It knows nothing of GLEAN.
#include <mpi.h>

#include <cstdio>
#include <filesystem>

namespace {

void list(const std::filesystem::path& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::printf("directory_iterator %s %d\n", entry.path().filename().c_str(), entry.is_regular_file() ? 1 : 0);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.parent_path())) {
    if (entry.path().parent_path() != directory) continue;
    std::printf("recursive_directory_iterator %s %d\n", entry.path().filename().c_str(), static_cast<int>(entry.file_size()));
  }
  std::error_code problem;
  std::filesystem::remove(directory, problem);
  std::printf("remove %s\n", problem == std::errc::directory_not_empty ? "not_empty" : problem.message().c_str());
  std::printf("remove_all %d\n", static_cast<int>(std::filesystem::remove_all(directory)));
  std::printf("exists %d\n", std::filesystem::exists(directory) ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && argc == 2) list(std::filesystem::absolute(argv[1]));
  std::fflush(stdout);
  return MPI_Finalize();
}
