// SPDX-License-Identifier: BSD-3-Clause
#include "start_up.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "base/run_notes.hpp"
#include "base/units.hpp"
#include "program_mpi.hpp"

namespace glean::mpiio {
namespace {

constexpr double words_every_s = 5, busy_s = 0.01;
constexpr int word_of_others = 4;   // rank 0 may be the one that does not come
constexpr int meeting_tag = 31415;
constexpr useconds_t nap_us = 1000;
[[gnu::constructor]] void note_that_it_is_loaded() {
  if (std::getenv("GLEAN_RUN_DIRECTORY") == nullptr) return;
  std::array<char, PATH_MAX> program{};
  if (readlink("/proc/self/exe", program.data(), program.size() - 1) > 0) base::leave_note("loaded", std::string(program.data()) + "\n");
}

// As the launchers tell it: what MPI itself would say cannot be asked.
bool is_rank_0() {
  for (const char* variable : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return std::string_view(rank) == "0";
  }
  return true;
}

// The ranks have not agreed on settings yet.
double deadline_seconds() noexcept {
  try {
    return base::load_configuration({}, base::process_environment()).settings.pool.deadline_seconds;
  } catch (const std::exception&) {
    return base::Settings{}.pool.deadline_seconds;
  }
}

// Says more and more clearly that some do not come.
class MissingRanks {
 public:
  explicit MissingRanks(int rank) : rank_(rank) {}

  void wait() {
    const double seconds = base::seconds(base::now_ns() - began_);
    if (seconds < busy_s) sched_yield();
    else usleep(nap_us);
    if (seconds < next_word_) return;
    if (words_++ == 0) deadline_ = deadline_seconds();
    const bool is_over = seconds >= deadline_;
    if (rank_ == 0 || words_ == word_of_others || is_over) {
      base::log(is_over ? base::LogLevel::error : base::LogLevel::warning,
                "MPI_Init: not all ranks have come for {:.0f} s: the library has to be in LD_PRELOAD of all of them, on all hosts "
                "(mpirun -x LD_PRELOAD), or of none", seconds);
    }
    if (is_over) PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    next_word_ = std::min(seconds + words_every_s, std::max(seconds, deadline_));
  }

 private:
  int rank_, words_ = 0;
  double next_word_ = words_every_s, deadline_ = 0;
  std::uint64_t began_ = base::now_ns();
};

}  // namespace

bool come_alive() noexcept {
  try {
    if (!is_other_mpi()) {
      base::leave_note("alive", "");
      return true;
    }
    base::leave_note("other", program_mpi() + "\n");
    if (is_rank_0()) {
      std::fputs(fmt::format("glean: warning: the program's MPI is {}, and this library was built with {}: MPI-IO passes through\n",
                             program_mpi(), built_with_mpi()).c_str(), stderr);
    }
  } catch (const std::exception&) {
    // Out of memory: the program will hear of it.
  }
  return false;
}

// A dissemination barrier of messages. Ranks without the library are in calls of their own, with which a collective one would be mixed up.
void wait_for_all_ranks() noexcept {
  int rank = 0, ranks = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MissingRanks missing(rank);
  for (int distance = 1; distance < ranks; distance *= 2) {
    std::array<MPI_Request, 2> requests{};
    PMPI_Irecv(nullptr, 0, MPI_BYTE, (rank - distance + ranks) % ranks, meeting_tag, MPI_COMM_WORLD, &requests[0]);
    PMPI_Isend(nullptr, 0, MPI_BYTE, (rank + distance) % ranks, meeting_tag, MPI_COMM_WORLD, &requests[1]);
    for (int done = 0; PMPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS && done == 0;) missing.wait();
  }
}

void announce(session::Core& core) noexcept {
  if (core.rank() != 0 || std::getenv("GLEAN_RUN_DIRECTORY") == nullptr) return;
  try {
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::string program = fmt::format("glean: {} rank{}", ranks, ranks == 1 ? "" : "s");
    if (!core.has_pool()) {
      std::fputs(fmt::format("{}, MPI-IO passes through ({}): mode and rules capture nothing\n", program, program_mpi()).c_str(), stderr);
      return;
    }
    const std::string& file = core.settings().report.file;
    std::fputs(fmt::format("{}, MPI-IO captured ({}), pool {}, {}\n", program, program_mpi(),
                           base::readable_bytes(core.pool().header().pool_bytes), file.empty() ? "no report file" : "report " + file)
                   .c_str(), stderr);
  } catch (const std::exception&) {
    // One line less.
  }
}

}  // namespace glean::mpiio
