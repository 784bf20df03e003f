// SPDX-License-Identifier: BSD-3-Clause
#include "start_up.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "program_mpi.hpp"

namespace glean::mpiio {
namespace {

constexpr off_t loaded_limit = 64 * 1024;   // of a script that starts many processes the first ones will do

// What cannot be written is not told: the program goes before.
void note(const char* file, std::string_view text) {
  const char* directory = std::getenv("GLEAN_RUN_DIRECTORY");
  if (directory == nullptr) return;
  const int descriptor = open((std::string(directory) + "/" + file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  if (lseek(descriptor, 0, SEEK_END) < loaded_limit) static_cast<void>(!write(descriptor, text.data(), text.size()));
  close(descriptor);
}

[[gnu::constructor]] void note_that_it_is_loaded() {
  if (std::getenv("GLEAN_RUN_DIRECTORY") == nullptr) return;
  std::array<char, PATH_MAX> program{};
  if (readlink("/proc/self/exe", program.data(), program.size() - 1) > 0) note("loaded", std::string(program.data()) + "\n");
}

// As the launchers tell it: what MPI itself would say cannot be asked.
bool is_rank_0() {
  for (const char* variable : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return std::string_view(rank) == "0";
  }
  return true;
}

}  // namespace

bool come_alive() noexcept {
  try {
    if (!is_other_mpi()) {
      note("alive", "");
      return true;
    }
    note("other", program_mpi() + "\n");
    if (is_rank_0()) {
      std::fputs(fmt::format("glean: warning: the program's MPI is {}, and this library was built with {}: MPI-IO passes through\n",
                             program_mpi(), built_with_mpi()).c_str(), stderr);
    }
  } catch (const std::exception&) {
    // Out of memory: the program will hear of it.
  }
  return false;
}

void announce(session::Core& core) noexcept {
  if (core.rank() != 0 || std::getenv("GLEAN_RUN_DIRECTORY") == nullptr) return;
  try {
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::string who = fmt::format("glean: {} rank{}", ranks, ranks == 1 ? "" : "s");
    if (!core.has_pool()) {
      std::fputs(fmt::format("{}, MPI-IO passes through ({}): the mode captures nothing\n", who, program_mpi()).c_str(), stderr);
      return;
    }
    const std::string& file = core.settings().report.file;
    std::fputs(fmt::format("{}, MPI-IO captured ({}), pool {}, {}\n", who, program_mpi(),
                           base::readable_bytes(core.pool().header().pool_bytes), file.empty() ? "no report file" : "report " + file)
                   .c_str(), stderr);
  } catch (const std::exception&) {
    // One line less.
  }
}

}  // namespace glean::mpiio
