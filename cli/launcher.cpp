// SPDX-License-Identifier: BSD-3-Clause
#include "cli/launcher.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace glean::cli {
namespace {

struct Said {
  Launcher::Kind kind;
  const char* variable;
};

// The daemons of mpirun and mpiexec are themselves tasks of a step of Slurm: that is said last.
constexpr std::array by_rank{Said{Launcher::Kind::open_mpi, "OMPI_COMM_WORLD_SIZE"}, Said{Launcher::Kind::pmi, "PMI_SIZE"},
                             Said{Launcher::Kind::pmi, "MPI_LOCALNRANKS"}, Said{Launcher::Kind::slurm, "SLURM_STEP_NUM_TASKS"}};
// But in a step within a process of mpirun the variables of mpirun are still there.
constexpr std::array by_step{Said{Launcher::Kind::slurm, "SLURM_STEP_NUM_TASKS"}};

Launcher what_says(const Said& said, const Environment& environment) {
  const char* value = environment(said.variable);
  if (value == nullptr || std::atoi(value) < 1) return {};
  return {.kind = said.kind, .count = std::atoi(value), .variable = said.variable, .value = value};
}

template <std::size_t Count>
Launcher first_of(const std::array<Said, Count>& all, const Environment& environment) {
  for (const Said& said : all) {
    if (Launcher launcher = what_says(said, environment); launcher.kind != Launcher::Kind::none) return launcher;
  }
  return {};
}

}  // namespace

Launcher find_launcher(const Environment& environment) {
  const auto has = [&](const char* variable) { return environment(variable) != nullptr; };
  const char* space = environment("PMIX_NAMESPACE");
  const bool is_step = space != nullptr && std::string_view(space).starts_with("slurm.pmix.");
  Launcher launcher = is_step ? first_of(by_step, environment) : first_of(by_rank, environment);
  // srun --mpi=pmi2 says PMI_SIZE, too.
  const char* type = environment("SLURM_MPI_TYPE");
  if (launcher.kind == Launcher::Kind::pmi && type != nullptr && std::string_view(type).starts_with("pmi")) {
    launcher.kind = Launcher::Kind::slurm;
  }
  launcher.lacks_pmi = launcher.kind == Launcher::Kind::slurm && !has("PMIX_NAMESPACE") && !has("PMI_FD") && !has("PMI_PORT") &&
                       !has("PMI_RANK");
  return launcher;
}

std::string Launcher::describe() const {
  const char* name = kind == Kind::slurm ? "srun" : kind == Kind::open_mpi ? "mpirun" : "mpiexec";
  return fmt::format("{} processes that {} has started ({}={})", count, name, variable, value);
}

std::string Launcher::advice() const {
  switch (kind) {
    case Kind::slurm:
      return "`srun --mpi=pmix` starts it so that it finds the others, and so does mpirun in the allocation; in a step of its own, "
             "because of the programs that one task runs MPI starts in the first only";
    case Kind::pmi:
      return "the mpirun of the MPI that this command was built with starts it so that it finds the others (`glean doctor` names it)";
    default:
      return "`mpirun … glean recover` has to be a command of its own: of the programs that one process of mpirun runs, MPI starts in "
             "the first only";
  }
}

}  // namespace glean::cli
