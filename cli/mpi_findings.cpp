// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string_view>

#include "cli/findings.hpp"
#include "cli/run_findings.hpp"

namespace glean::cli {
namespace {

constexpr int start_deadline_ms = 30'000;

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view whole(text.data(), static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.find_first_of(",\n")));
}

std::string_view name_of_level(int level) {
  if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
  if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return "MPI_THREAD_SINGLE";
}

[[noreturn]] void start_mpi_and_tell(int descriptor) {
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  const bool told = write(descriptor, &provided, sizeof(provided)) == sizeof(provided);
  MPI_Finalize();
  _exit(told ? 0 : 1);
}

// The level that a child process was given; nothing when it could not start MPI in time.
std::optional<int> thread_level() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) start_mpi_and_tell(ends[1]);
  close(ends[1]);
  std::optional<int> level;
  if (child > 0) {
    pollfd wait{.fd = ends[0], .events = POLLIN, .revents = 0};
    int provided = 0;
    if (poll(&wait, 1, start_deadline_ms) == 1 && read(ends[0], &provided, sizeof(provided)) == sizeof(provided)) {
      level = provided;
    } else {
      kill(child, SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }
  close(ends[0]);
  return level;
}

}  // namespace

void find_mpi(Findings& findings) {
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  findings.push_back(
      {"MPI", Verdict::ok, fmt::format("{}, MPI {}.{}", library_version(), version, subversion), {}});
  if (const auto level = thread_level()) {
    findings.push_back({"MPI threads", Verdict::ok,
                        fmt::format("up to {}; MPI_THREAD_SINGLE is enough", name_of_level(*level)), {}});
  } else {
    findings.push_back({"MPI threads", Verdict::fail, "a process could not start MPI",
                        "see what `mpirun -n 1 true` says; every MPI program will fail here"});
  }
}

void find_pnetcdf(Findings& findings) {
  // "1.12.3 of 14 Jun 2022"
  findings.push_back({"PnetCDF", Verdict::ok, ncmpi_inq_libvers(), {}});
  if (asks_pnetcdf_for_gio()) {
    findings.push_back({"PNETCDF_HINTS", Verdict::warn,
                        "with nc_driver=gio PnetCDF from 1.15 on writes past MPI-IO: what it writes is not captured",
                        "take nc_driver=gio out of PNETCDF_HINTS"});
  }
}

}  // namespace glean::cli
